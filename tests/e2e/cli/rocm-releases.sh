# The real libraries under the names that AMD's packages of ROCm 10 give them: found, compiled with, run and
# profiled; without a compiler; and an old ROCm in front of the private one.
. "$(dirname "$0")/../lib.sh"
[ -e "$ROCM_PERF_ROCM/.rocm-perf-prefix" ] || { echo "SKIPPED: $ROCM_PERF_ROCM is not a private ROCm"; exit 0; }
private=$ROCM_PERF_ROCM/usr/lib/x86_64-linux-gnu
unset ROCM_PATH VIRTUAL_ENV CONDA_PREFIX
expect_words() { tr -s ' \n' ' ' <out >words; says words "$1"; }

core=$SCRATCH/opt/rocm/core-10.1
mkdir -p "$core"/bin "$core"/.info "$core"/include/hip
cp -rs "$private" "$core/lib"
for library in libamdhip64.so.7 libhsa-runtime64.so.1; do
    rm "$core/lib/$library"
    cp -L "$private/$library" "$core/lib/$library"
done
echo 10.1.0 >"$core/.info/version"
ln -s core-10.1/bin core-10.1/lib opt/rocm
cat >"$core/bin/hipcc" <<END
#!/bin/sh
ROCM_PATH='$ROCM_PERF_ROCM' exec rocm-perf hipcc "\$@"
END
chmod +x "$core/bin/hipcc"

for root in opt/rocm opt/rocm/core-10.1; do
    expect 0 env ROCM_PATH="$SCRATCH/$root" rocm-perf doctor
    expect_words "ROCm ok 10.1.0 (installed) in $core used $core (10.1.0), found by \$ROCM_PATH"
    expect_words "HIP compiler ok $core/bin/hipcc"
done
export ROCM_PATH=$SCRATCH/opt/rocm
expect 0 rocm-perf doctor --json
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/doctor.schema.json" out
[ "$(json rocm.candidates.0.parts.hip out)" = "$core/lib/libamdhip64.so.7" ] || fail "$(cat out)"
expect 0 rocm-perf hipcc "$SOURCE/examples/vector_add.hip" -I "$SOURCE/examples" -o vector_add
LD_DEBUG=files LD_DEBUG_OUTPUT=$SCRATCH/loaded rocm-perf run ./vector_add >out 2>&1 || { cat out; fail run; }
for library in libamdhip64.so.7 libhsa-runtime64.so.1; do
    grep -qhF "calling init: $core/lib/$library" loaded.* || fail "$library is not that of $core"
done
expect 0 rocm-perf profile --runs 1 -o profiled ./vector_add
[ "$(json provenance.rocm_version profiled/profile.json)" = 10.1.0 ] || fail "$(cat profiled/profile.json)"
ROCM_PATH=$ROCM_PERF_ROCM rocm-perf profile --runs 1 -o private ./vector_add >out 2>&1 || { cat out; fail profile; }
[ "$(json kernels private/profile.json)" = "$(json kernels profiled/profile.json)" ] || fail 'kernels differ'

expect 0 rocm-perf isolate --kernel vector_add -o captured ./vector_add

# As many containers have it: programs run, and hipcc says what to install.
rm "$core/bin/hipcc"
expect 0 rocm-perf profile --runs 1 -o profiled ./vector_add
expect 4 rocm-perf hipcc "$SOURCE/examples/vector_add.hip" -o other
says err "the ROCm in $core (10.1.0) has no HIP compiler; install the package amdrocm-core-sdk, or set ROCM_PATH to a ROCm that has one"
expect 0 rocm-perf doctor
expect_words 'has no compiler, HIP headers, device libraries (to compile)'

# Python's packages of an environment that is active.
unset ROCM_PATH
packages=$SCRATCH/venv/lib/python3.12/site-packages
mkdir -p "$packages/_rocm_sdk_core" "$packages/rocm_sdk_core-10.1.0.dist-info"
ln -s "$core/lib" "$packages/_rocm_sdk_core/lib64"
expect 0 env VIRTUAL_ENV="$SCRATCH/venv" rocm-perf profile --runs 1 -o profiled ./vector_add
[ "$(json provenance.rocm_version profiled/profile.json)" = 10.1.0 ] || fail "$(cat profiled/profile.json)"
expect 4 env VIRTUAL_ENV="$SCRATCH/venv" rocm-perf hipcc x.hip
says err "install pip's rocm[devel] and run rocm-sdk init"

# The machine's own folders, where this user may have others in their place.
unshare -rm true 2>/dev/null || { echo 'SKIPPED: /opt of another root (no user namespaces here)'; exit 0; }
[ -d /opt ] || { echo 'SKIPPED: there is no /opt'; exit 0; }
with_opt() { unshare -rm sh -c 'mount --bind "$0" /opt && exec "$@"' "$SCRATCH/opt" "$@"; }
export ROCM_PERF_CACHE=${ROCM_PERF_ROCM%/rocm}
expect 0 with_opt rocm-perf doctor
expect_words 'used /opt/rocm/core-10.1 (10.1.0), found by /opt/rocm:'
expect_words "- $ROCM_PERF_ROCM ($(sed -n 's/^rocm //p' "$ROCM_PERF_ROCM/.rocm-perf-prefix")), found by setup: passed over: the one that is used comes before it"
expect 0 with_opt rocm-perf profile --runs 1 -o profiled ./vector_add
[ "$(json provenance.rocm_version profiled/profile.json)" = 10.1.0 ] || fail "$(cat profiled/profile.json)"
expect 0 with_opt env "$SOURCE/setup" --print-rocm
says out /opt/rocm/core-10.1

mkdir -p old/rocm-6.4.1/lib old/rocm-6.4.1/.info
cp "$core/lib/libamdhip64.so.7" old/rocm-6.4.1/lib/libamdhip64.so.6
cp "$core/lib/libhsa-runtime64.so.1" old/rocm-6.4.1/lib
echo 6.4.1-83 >old/rocm-6.4.1/.info/version
ln -s rocm-6.4.1 old/rocm
rm -r opt && mv old opt
reason='ROCm 6.4.1-83 is too old: its HIP is libamdhip64.so.6, and libamdhip64.so.7 is needed'
expect 0 with_opt rocm-perf doctor
expect_words "- /opt/rocm (6.4.1-83): passed over: $reason; install ROCm 7 or 10"
expect_words "used $ROCM_PERF_ROCM"
example vector_add
expect 0 with_opt rocm-perf profile --runs 1 -o profiled ./vector_add
says err "/opt/rocm: $reason; using $ROCM_PERF_ROCM"
expect 0 with_opt rocm-perf profile --quiet --runs 1 -o profiled ./vector_add
! grep -q 'too old' err || fail "$(cat err)"
expect 4 with_opt env ROCM_PERF_CACHE="$SCRATCH/none" rocm-perf profile ./vector_add
says err "no ROCm that can be used: /opt/rocm: $reason; run "
says err ', or install ROCm 7 or 10'
expect 4 with_opt env ROCM_PATH=/opt/rocm rocm-perf hipcc x.hip
says err "ROCM_PATH=/opt/rocm: $reason; install ROCm 7 or 10, or unset the variable"
expect 0 with_opt "$SOURCE/setup" --print-rocm
says out "$ROCM_PERF_ROCM"
