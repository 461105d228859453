# Captures of every kind of memory that a program can have: each buffer, before and after the dispatch.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../memories.sh"

captures chase target_chase
captures variables target_variable
captures managed target_scale
captures mapped target_scale
captures async target_scale
captures host target_scale
for i in 1 2 3; do
    captures streams target_scale 2
done
captures gemm target_gemm 2
captures attached target_scale
grep -q '"class": "ipc"' cap/memory_regions.json || fail "memory of another process is of no class of its own"
ROCM_PERF_DEVICE_GPUS=2 captures peer target_scale
[ "$(json agent.gpu cap/dispatch.json)" = 1 ] || fail "the second GPU"
echo passed
