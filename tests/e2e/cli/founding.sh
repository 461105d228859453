# Every command line of the five founding documents, as they are written, and what they promise of the results. The
# table of docs/README.md says where it is.
. "$(dirname "$0")/../lib.sh"
unset ROCM_PERF_DEVICE_TIMING
example vector_add
cp vector_add kernel_binary
mv vector_add your_app
printf '#!/bin/sh\nprintf "[%%s]" "$@"\nexec ./kernel_binary\n' >words
chmod +x words
valid() { expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/$1.schema.json" "$2"; }

expect 0 rocm-perf --version
expect 0 rocm-perf-lab --version

# The manual: tables, JSON, a number, the log of the tracer, the time of the process.
expect 0 rocm-perf profile ./kernel_binary
for word in Runtime Stability 'CV '; do says out "$word"; done
expect 0 rocm-perf profile -v ./kernel_binary # -v does not go behind it: it is none of the words
for word in occupancy VGPR LDS; do says out "$word"; done
expect 0 rocm-perf profile ./kernel_binary --json
says err '--json behind ./kernel_binary is read by rocm-perf profile; to pass it to ./kernel_binary, write -- before'
says err 'ROCM_PERF_STRICT_ARGS=1'
[ "$(grep -c 'is read by' err)" = 1 ] || fail 'more than one line says so'
mv out said.json
valid profile said.json
python3 - said.json <<'PYTHON'
import json, sys
found = json.load(open(sys.argv[1]))
keys = {"schema_version", "kernel", "gpu", "runtime_ms", "stability", "resources", "occupancy", "roofline"}
assert keys <= set(found), keys - set(found)
assert found["schema_version"] == "1.0" or found["schema_version"].startswith("1."), found["schema_version"]
assert found["roofline"] is None and found["runtime_ms"] > 0
assert found["stability"]["cv"] == 0 and found["stability"]["classification"] == "stable"
assert {"vgpr_per_thread", "lds_bytes"} <= set(found["resources"])
assert {"theoretical", "threads_per_block", "wave_size"} <= set(found["occupancy"])
assert found["provenance"]["command"] == ["./kernel_binary"], found["provenance"]
PYTHON
# The README of the documents: four files from every profile. The rooflines are those of --roofline, to the byte.
for file in profile roofline dag analysis; do valid $file .rocpd_profile/$file.json; done
cp .rocpd_profile/roofline.json plain.json
[ "$(sqlite3 .rocpd_profile/trace_results.db 'select count(*) from counters_collection')" = 0 ] || fail 'counters in the trace'
expect 0 rocm-perf profile ./kernel_binary --quiet
[[ $(cat out) =~ ^[0-9]+\.[0-9]+$ ]] || fail 'not only a number'
expect 0 rocm-perf profile ./kernel_binary --debug
[ -s .rocpd_profile/tracer.log ] || fail 'no log of the tracer'
expect 0 rocm-perf profile ./kernel_binary --no-rocprof
says out 'wall clock'
expect 0 rocm-perf profile ./kernel_binary --roofline
for word in FLOP/byte FLOP/s B/s; do says out "$word"; done
cp .rocpd_profile/roofline.json full.json
cmp plain.json full.json || fail 'the rooflines depend on who asked for them'
[ "$(json roofline .rocpd_profile/profile.json)" != null ] || fail 'no roofline in profile.json'
expect 0 rocm-perf profile --runs 1 --timing counts ./kernel_binary
valid roofline .rocpd_profile/roofline.json
[ "$(json kernels.0.flops .rocpd_profile/roofline.json)" = "$(json kernels.0.flops full.json)" ] || fail 'FLOPs of counts timing'
[ "$(json kernels.0.hbm_read_bytes .rocpd_profile/roofline.json)" = null ] || fail 'bytes of counts timing'
expect 0 rocm-perf profile --runs 1 --pmc SQ_WAVES ./kernel_binary
cmp .rocpd_profile/roofline.json full.json >/dev/null || [ "$(json kernels.0.bound .rocpd_profile/roofline.json)" = hbm ] || fail 'no roofline beside --pmc'
[ "$(json kernels.0.counters .rocpd_profile/profile.json)" = '{"SQ_WAVES": 15628.0}' ] || fail '--pmc has others, too'
expect 0 rocm-perf profile ./kernel_binary --roofline --memory-bandwidth-gbps 100
[ "$(json kernels.0.ceilings.hbm_gbps .rocpd_profile/roofline.json)" = 100 ] || fail 'not the bandwidth that was given'
[ "$(json kernels.0.ceilings.hbm_gbps full.json)" = 5324.8 ] || fail 'not the bandwidth of an MI300X'
expect 0 rocm-perf profile --memory-bandwidth-gbps 100 --roofline ./kernel_binary
[ "$(json kernels.0.ceilings.hbm_gbps .rocpd_profile/roofline.json)" = 100 ] || fail 'not the bandwidth that was given first'

# Each of the words alone; and what is the program's: words before others, words behind --, other words.
for word in --json --quiet --debug --no-rocprof --roofline --deep-analysis --focus-critical --why \
    '--memory-bandwidth-gbps 100'; do
    expect 0 rocm-perf profile --runs 1 ./words one $word
    grep -qF "[one]" out err || fail "$word: arguments"
    ! grep -qF "[$word]" out err || fail "$word went to the program"
    [ "$(json provenance.command .rocpd_profile/profile.json)" = '["./words", "one"]' ] || fail "$word is in the command"
done
expect 0 rocm-perf profile --runs 1 ./words --json two --quiet
says err '[--json][two]'
[ "$(wc -l <out)" = 1 ] || fail '--quiet was not read'
expect 0 rocm-perf profile --runs 1 -- ./words --json --quiet
says out '[--json][--quiet]'
ROCM_PERF_STRICT_ARGS=1 expect 0 rocm-perf profile --runs 1 ./words --json
says out '[--json]'
! grep -q 'is read by' err || fail 'said although nothing was taken'
says out 'Next: rocm-perf profile --why -- ./words --json'

# A history's series is that of the program, with and without options behind it.
expect 0 rocm-perf profile ./kernel_binary --roofline
expect 0 rocm-perf history add --db h.db .rocpd_profile
expect 0 rocm-perf profile ./kernel_binary
expect 0 rocm-perf history add --db h.db --commit other .rocpd_profile
expect 0 rocm-perf history list --db h.db
[ "$(awk '{ print $NF }' out | sort -u)" = ./kernel_binary ] || fail 'another series with options behind the program'

# optimize finds the source: by the symbols, by line tables from elsewhere, by compile_commands.json.
mkdir -p home/src elsewhere
cp "$SOURCE/tests/e2e/programs/unroll/latency.hip" home/src/your_app.cu
cp "$SOURCE/examples/check.h" home/src
(cd home/src && rocm-perf hipcc -x hip -O3 your_app.cu -o your_app && rocm-perf hipcc -x hip -g -O3 your_app.cu -o lines)
cd home/src
for name in rocm-perf rocm-perf-lab; do
    expect 1 $name optimize ./your_app --dry-run --max-iters 1 --max-rounds 1
    says err "--source $PWD/your_app.cu, according to the symbols of $PWD/your_app"
    says out 'unroll the loop'
    rm -rf optimize_result
done
cd ../../elsewhere
mv ../home/src/lines ../home/src/your_app .
expect 1 rocm-perf optimize ./lines --dry-run --max-iters 1 --max-rounds 1
says err "--source $SCRATCH/home/src/your_app.cu, according to the line tables of $PWD/lines"
says err 'hipcc -g -O3'
says out 'unroll the loop'
expect 2 rocm-perf optimize ./your_app
for word in 'compile with -g' 'compile_commands.json in the folders above it (none)' 'beside it and in the current folder'; do
    says err "$word"
done
echo '[{"directory": "../home/src", "file": "your_app.cu", "command": "hipcc -x hip -O3 -c your_app.cu"}]' |
    sed "s,\.\./home,$SCRATCH/home," >compile_commands.json
expect 1 rocm-perf optimize ./your_app --flags '-x hip -O3' -o by_commands --dry-run --max-iters 1 --max-rounds 1
says err "--source $SCRATCH/home/src/your_app.cu, according to $PWD/compile_commands.json"
sed 's/gather/scatter/g' ../home/src/your_app.cu >../home/src/other.cu
cat ../home/src/your_app.cu >>../home/src/other.cu
sed -i "s,^\[\(.*\)\]$,[\1\, {\"directory\": \"$SCRATCH/home/src\"\, \"file\": \"other.cu\"\, \"command\": \"true\"}]," compile_commands.json
expect 2 rocm-perf optimize ./your_app -o several
says err "according to $PWD/compile_commands.json 2 files have kernels of $PWD/your_app: "
cd ..

# autotune as the manual and the skill write it: each configuration by arguments, the kernel's time by the tracer.
mkdir tune
cd tune
cat >kernel.hip <<'HIP'
#include <hip/hip_runtime.h>
#include <cstdlib>
__global__ void scale(float *p, int n, int each)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * each;
    for (int i = first; i < first + each && i < n; i++)
        p[i] = 2 * p[i] + 1;
}
int main(int argc, char **argv)
{
    int n = 1 << 16, bm = atoi(argv[2]), bn = atoi(argv[4]);
    float *p;
    if (hipMalloc(&p, n * sizeof *p) != hipSuccess)
        return 1;
    scale<<<(n + bm * bn - 1) / (bm * bn), bm>>>(p, n, bn);
    return hipDeviceSynchronize();
}
HIP
expect 0 rocm-perf hipcc -O3 kernel.hip -o kernel
echo '{"BLOCK_M": [64, 128, 256, 512], "BLOCK_N": [1, 2, 4, 8, 16]}' >search_space.json
expect 0 rocm-perf autotune \
    --space search_space.json \
    --cmd-template "./kernel --bm {BLOCK_M} --bn {BLOCK_N}" --json
mv out said.json
valid autotune said.json
[ "$(json warning said.json)" = low_model_confidence ] || fail 'no warning of a model made of four runs'
seeds() { python3 -c 'import json, sys; print(sum(run["phase"] == "seed" for run in json.load(sys.stdin)["history"]))' <"$1"; }
[ "$(seeds said.json)" -ge 1 ] || fail 'no seed phase'
expect 0 rocm-perf autotune --space search_space.json --cmd-template "./kernel --bm {BLOCK_M} --bn {BLOCK_N}" \
    --max-fraction 0.6 --seed-fraction 0.5 -o more --json
[ "$(seeds out)" = 10 ] || fail 'the seed phase is not half of the space'
expect 0 rocm-perf autotune --space search_space.json --cmd-template "./kernel --bm {BLOCK_M} --bn {BLOCK_N}" \
    --max-fraction 0.6 --seed-fraction 0.1 -o fewer --json
[ "$(seeds out)" = 2 ] || fail 'the seed phase is not a tenth of the space'
! grep -q 'is less than one' err || fail 'a fraction of 2 configurations is called less than one'
expect 0 rocm-perf autotune --space search_space.json --cmd-template "./kernel --bm {BLOCK_M} --bn {BLOCK_N}" \
    --max-fraction 0.1 --seed-fraction 1e-9 -o one --json
[ "$(seeds out)" = 1 ] || fail 'less than one configuration is not one'
says err '--seed-fraction 1e-09 of 20 configurations is less than one of them: the first phase runs one'
expect 2 rocm-perf autotune --space search_space.json --cmd-template "./kernel --bm {BLOCK_M}" --seed-fraction 0.3
says err '--seed-fraction 0.3 is more than --max-fraction 0.2'
cd ..

# The white paper: what a capture consists of, and that it is run again at the same addresses.
expect 0 rocm-perf isolate --kernel vector_add -o isolate_capture ./kernel_binary
for file in dispatch.json kernarg.bin kernel.hsaco memory_regions.json; do
    [ -s isolate_capture/$file ] || fail "no $file"
done
ls isolate_capture/memory | grep -q '^region_' || fail 'no memory'
expect 0 rocm-perf replay full-vm --capture-dir isolate_capture --iterations 1 --verify

# The readme's classes and the skill's critical path.
expect 0 rocm-perf profile --runs 1 ./kernel_binary --deep-analysis
[ "$(json critical_path_ns .rocpd_profile/dag.json)" -gt 0 ] || fail 'no critical path'
