# What is captured runs again at the same addresses and leaves the same memory. The other kinds of memory are in
# replay-memories.sh.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../memories.sh"
export ASAN_OPTIONS=verify_asan_link_order=0 # for a rocm-perf built with it: we preload in front

replays arith 'target_scale\('

# In new processes, again and again, at the same addresses: the child ends with 1 where it has others.
expect 0 rocm-perf replay reserve-check --capture-dir cap
says out "all 8 ranges can be had"
for i in $(seq "${RP_REPLAYS:-10}"); do
    expect 0 rocm-perf replay full-vm --capture-dir cap --verify
    says out "memory after it is as captured"
done
says out "1 runs, not timed"

# A range that something else has: refused, and what it is. The software device stands behind it.
python3 -c '
import json
r = json.load(open("cap/memory_regions.json"))["regions"]
print(next(x["base"] for x in r if x["location"] == "device" and x["bytes"] > 100000))' >base
expect 1 env LD_PRELOAD="$BUILD/tests/occupy.so" OCCUPY="$(cat base)" rocm-perf replay reserve-check --capture-dir cap
says err "is taken in this process: $(cut -c3- base)"
[ ! -s out ] || fail "a result beside the refusal"
expect 1 env LD_PRELOAD="$BUILD/tests/occupy.so" OCCUPY="$(cat base)" rocm-perf replay reserve-check --capture-dir cap --json
[ "$(json available out)" = false ] || fail "JSON of the refusal"
case $(json reason out) in *"is taken in this process: $(cut -c3- base)"*) ;; *) fail "the reason in JSON" ;; esac
expect 1 env LD_PRELOAD="$BUILD/tests/occupy.so" OCCUPY="$(cat base)" rocm-perf replay full-vm --capture-dir cap --verify

# Other arguments give other memory, and that is seen. So is a kernel that leaves what it finds.
cp -r cap other
printf '\7' | dd of=other/kernarg.bin bs=1 seek=16 conv=notrunc status=none
"$BUILD/tests/capture_check" --seal other || fail "cannot seal"
expect 1 rocm-perf replay full-vm --capture-dir other --verify
says out "memory after it is not as captured"

# In place: without restoring, the second run does not begin with the captured memory.
captured histogram target_histogram 3
expect 0 rocm-perf replay full-vm --capture-dir cap --no-recopy --iterations 4 --verify --json
[ "$(json execution.mode out)" = stateful ] || fail "stateful"
[ "$(json verify.equal out)" = true ] || fail "the first run is compared"

# Between runs only what the dispatch changed is restored, unless the kernel changes more: with another
# factor in its arguments it writes results that were there already.
captured histogram target_histogram 3
expect 0 rocm-perf replay full-vm --capture-dir cap --iterations 20 --verify --json
[ "$(json execution.restored out)" = changed ] || fail "only changed pages"
# What times they are is said.
expect 0 rocm-perf replay full-vm --capture-dir cap --timing detailed --json
[ "$(json environment.device out) $(json environment.timing_model out)" = 'software detailed' ] || fail 'which times?'
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/replay.schema.json" out >/dev/null || fail "JSON"
expect 0 env -u ROCM_PERF_DEVICE_TIMING rocm-perf replay full-vm --capture-dir cap --timing counts
says out 'on gfx942 AMD Instinct MI300X (software device: modelled time (counts), not that of a GPU)'

# Without a word a capture is replayed on what it was made on, with detailed timing, by each of the actions.
rocm-perf hipcc --offload-arch=gfx90a,gfx942 "$SOURCE/tests/e2e/programs/small90.hip" -o small90
# made DEVICE TIMING
made() {
    rm -rf made
    expect 0 rocm-perf isolate --kernel 'k\(' --device "$1" --timing "$2" -o made ./small90
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/capture_dispatch.schema.json" made/dispatch.json >/dev/null ||
        fail "dispatch.json of $1 is not as its schema says"
}
# replayed PRODUCT TIMING ACTION...: which GPU, and which times.
replayed() {
    local product=$1 timing=$2
    shift 2
    expect 0 env -u ROCM_PERF_DEVICE_TIMING "$@" --capture-dir made --json
    [ "$(json environment.product out) $(json environment.timing_model out)" = "$product $timing" ] ||
        { cat out err; fail "replayed on something else: $*"; }
}
kernels=(made/kernel.hsaco made/kernel.hsaco --blocks 10)
made software:gfx90a counts
grep -q '"label": "deterministic"' made/self_check.json || fail 'self-check on another GPU'
replayed 'AMD Instinct MI250X' detailed rocm-perf replay full-vm --verify
replayed 'AMD Instinct MI250X' detailed rocm-perf replay full-vm --hsaco made/kernel.hsaco
replayed 'AMD Instinct MI250X' detailed rocm-perf replay compare "${kernels[@]}"
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/replay_compare.schema.json" out >/dev/null || fail "JSON"
replayed 'AMD Instinct MI210' detailed env ROCM_PERF_DEVICE=mi210 rocm-perf replay full-vm
replayed 'AMD Instinct MI210' detailed rocm-perf replay full-vm --device software:mi210
expect 0 rocm-perf replay reserve-check --capture-dir made
expect 4 rocm-perf replay full-vm --capture-dir made --device software
says err 'there is no GPU like the captured one here: gfx90a; the software device can be one: --device software:gfx90a'
made software:mi325x detailed
replayed 'AMD Instinct MI325X' detailed rocm-perf replay full-vm
replayed 'AMD Instinct MI325X' detailed rocm-perf replay compare "${kernels[@]}"
replayed 'AMD Instinct MI325X' counts rocm-perf replay full-vm --timing counts
replayed 'AMD Instinct MI325X' off env ROCM_PERF_DEVICE_TIMING=off rocm-perf replay full-vm
replayed 'AMD Instinct MI300X' detailed rocm-perf replay full-vm --device software
expect 0 rocm-perf isolate inspect --json made
[ "$(json gpu.timing out)" = detailed ] || fail 'inspect: which times?'
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/capture.schema.json" out >/dev/null || fail "inspect --json"
made software:mi210 off
replayed 'AMD Instinct MI210' off rocm-perf replay full-vm
says err 'not timed, as the capture was made with --timing off'
replayed 'AMD Instinct MI210' detailed rocm-perf replay compare "${kernels[@]}"
says err 'it takes --timing detailed'
# The GPU that the program itself has chosen is what counts.
rm -rf made
expect 0 rocm-perf isolate --kernel 'k\(' --device software -o made \
    sh -c 'ROCM_PERF_DEVICE=mi210 ROCM_PERF_DEVICE_TIMING=counts ./small90'
says out 'replayed: deterministic'
replayed 'AMD Instinct MI210' detailed rocm-perf replay full-vm
# A capture of before does not say how it was timed; one whose GPU is not known here is replayed on the default.
sed -i '/"timing": "counts"/d; s/"device": "software",/"device": "software"/' made/dispatch.json
"$BUILD/tests/capture_check" --seal made || fail "cannot seal"
replayed 'AMD Instinct MI210' detailed rocm-perf replay full-vm
sed -i 's/"isa": "gfx90a"/"isa": "gfx942"/; s/AMD Instinct MI210/AMD Instinct MI399X/' made/dispatch.json
"$BUILD/tests/capture_check" --seal made || fail "cannot seal"
expect 0 env -u ROCM_PERF_DEVICE_TIMING rocm-perf replay reserve-check --capture-dir made
says err 'the software device cannot be what the capture was made on (gfx942 AMD Instinct MI399X)'
captured streams target_scale 2
expect 0 rocm-perf replay full-vm --capture-dir cap --iterations 5 --json
[ "$(json execution.restored out)" = changed ] || fail "nothing was changed"
printf '\7' | dd of=cap/kernarg.bin bs=1 seek=16 conv=notrunc status=none
"$BUILD/tests/capture_check" --seal cap || fail "cannot seal"
expect 0 rocm-perf replay full-vm --capture-dir cap --iterations 5 --json
[ "$(json execution.restored out)" = all ] || fail "all memory"
[ "$(json timing.samples out | tr -cd , | wc -c)" = 4 ] || fail "five samples"
says err "changes pages here that the captured dispatch left"

# A kernel that prints would wait for ever.
captured print target_print
expect 1 timeout 400 rocm-perf replay full-vm --capture-dir cap
says err "hidden_hostcall_buffer"

# What is no capture, or damaged: also where the text that is there could be read.
for file in dispatch.json kernarg.bin coverage.json; do
    cp -r cap damaged
    python3 - "damaged/$file" <<'EOP'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.rfind(b"1") if sys.argv[1].endswith("json") else 0
data[at] ^= 1
open(sys.argv[1], "wb").write(data)
EOP
    expect 3 rocm-perf replay full-vm --capture-dir damaged
    says err "damaged/$file is damaged"
    rm -r damaged
done
cp -r cap damaged
: >damaged/checksums.json
expect 3 rocm-perf replay full-vm --capture-dir damaged
says err 'checksums.json'
# A replay that the loader does not take: a reason, and no status of the loader.
mkdir broken
cp "$BUILD/rocm-perf" broken/
ln -s "$BUILD/lib" broken/lib
echo 'no program' >broken/rocm-perf-replay
chmod +x broken/rocm-perf-replay
expect 4 broken/rocm-perf replay full-vm --capture-dir cap
says err 'broken/rocm-perf-replay cannot be loaded'
rm cap/kernel.hsaco
expect 3 rocm-perf replay full-vm --capture-dir cap
says err "kernel.hsaco"
mkfifo cap/kernel.hsaco
expect 3 timeout 400 rocm-perf replay full-vm --capture-dir cap
says err "kernel.hsaco is damaged: it is no regular file"
expect 3 rocm-perf replay full-vm --capture-dir nowhere
echo passed
