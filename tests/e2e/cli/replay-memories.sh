# What is captured of every kind of memory runs again at the same addresses and leaves the same memory.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../memories.sh"

replays chase target_chase
replays histogram target_histogram 3
replays variables target_variable
replays managed target_scale
replays mapped target_scale
replays async target_scale
replays host target_scale
replays gemm target_gemm 2
# Less than the device holds packets for copies that other threads are within.
export ROCM_PERF_CAPTURE_PATIENCE_MS=8000
replays streams target_scale 2
unset ROCM_PERF_CAPTURE_PATIENCE_MS

# Each region of its own kind: what the driver is asked for (1 << 26: coherent), by the device's log.
export HSA_FORCE_FINE_GRAIN_PCIE=1 # otherwise ROCr offers none
replays fine target_scale
rm -f log
expect 0 env ROCM_PERF_DEVICE_DEBUG="$PWD/log" rocm-perf replay full-vm --capture-dir cap --verify
python3 -c '
import json, re
flags, at = {}, {}
for line in open("log"):
    if m := re.search(r"alloc .* flags (0x\w+): handle 0x\w*?(\w{8}), 0$", line):
        flags[int(m[2], 16)] = int(m[1], 16)
    if m := re.search(r"bo (\d+) va op 1 at (0x\w+),", line):
        at[int(m[2], 16)] = flags[int(m[1])]
regions = json.load(open("cap/memory_regions.json"))["regions"]
kinds = [(r["grain"], bool(at[int(r["base"], 16)] >> 26 & 1)) for r in regions if r["location"] == "device"]
assert ("fine", True) in kinds and ("coarse", False) in kinds, kinds
assert all(coherent == (grain == "fine") for grain, coherent in kinds), kinds
# Arguments as well: HIP has them in device memory here, and so has the replay, in a page of its own.
args = int(json.load(open("cap/dispatch.json"))["kernarg"]["address"], 16)
place = [r["location"] for r in regions if int(r["base"], 16) <= args < int(r["base"], 16) + r["bytes"]]
mapped = [a for a in at if at[a] & 1 and not any(int(r["base"], 16) >> 12 << 12 <= a < int(r["base"], 16) + r["bytes"] for r in regions)]
assert place == ["device"] and len(mapped) == 1, (place, mapped)' ||
    fail "kinds of memory"

unset HSA_FORCE_FINE_GRAIN_PCIE

# Memory of another GPU, on which no kernel ran: as many software GPUs as then; where there is only one.
GPUS='--gpus 2'
replays peer target_scale
GPUS=
[ "$(python3 -c '
import json
print(len({r["node"] for r in json.load(open("cap/memory_regions.json"))["regions"] if r["location"] == "device"}))')" = 2 ] || fail "memory of two GPUs"
expect 1 env ROCM_PERF_DEVICE_GPUS=1 rocm-perf replay full-vm --capture-dir cap --verify
says err "is of another GPU (node 1) than the kernel ran on: the capture is of 2 GPUs, and there is 1 here; ROCM_PERF_DEVICE_GPUS says"
echo passed
