#!/usr/bin/env bash
# PC sampling of the software device by ROCr's own interface (hsa_ven_amd_pcs_*): shares are those of --deep-analysis's
# latencies, records say who was sampled, nothing is lost, and what cannot be is refused by name.
. "$(dirname "$0")/../lib.sh"
unset ROCM_PERF_DEVICE_TIMING
cp "$SOURCE/tests/e2e/programs/pc_samples.hip" .
expect 0 rocm-perf hipcc -g -O2 pc_samples.hip -o pc_samples -lhsa-runtime64
export ROCM_PERF_DEVICE_PC_SAMPLING=on

sampled() { expect 0 rocm-perf run "$@" && grep -E '^-?[0-9]+ [0-9a-f]{16} ' out >samples; }

sampled ./pc_samples 1 10
says out 'configuration: method 0 units 0 interval 1 to 18446744073709551615 flags 0'
says out 'lost 0'
cp samples first
(unset ROCM_PERF_DEVICE_PC_SAMPLING && expect 0 rocm-perf profile --device software --runs 1 --deep-analysis -o deep ./pc_samples)
python3 - deep/thread_trace.json first <<'PY' || fail 'samples'
import collections, json, sys
code = json.load(open(sys.argv[1]))["thread_trace"][0]["instructions"]
rows = [line.split() for line in open(sys.argv[2])]
at = next(i["address"] for i in code if i["isa"].startswith("s_getpc_b64")) + 4
got = collections.Counter(int(row[0]) + at for row in rows)
cost = {i["address"]: i["sums"]["latency_cycles"] + i["sums"]["idle_cycles"] for i in code}
isa = {i["address"]: i["isa"] for i in code}
total = sum(cost.values())
assert len(rows) > 1500, len(rows)
# Only the first work-item writes its place, in a unit that is not traced.
assert sum(n for a, n in got.items() if a not in cost) < len(rows) / 1000, set(got) - set(cost)
# A thread trace is of one compute unit of an engine; and traps sample many waves at once, which do the same.
for a in cost:
    share, sampled = cost[a] / total, got[a] / len(rows)
    assert abs(share - sampled) < 0.04, (isa[a], share, sampled)
hottest = max(cost, key=cost.get)
assert got.most_common(1)[0][0] == hottest and isa[hottest].startswith("s_waitcnt vmcnt"), isa[hottest]
# In the inner loop 16 lanes are on, all are elsewhere.
lanes = collections.defaultdict(set)
for row in rows:
    lanes[int(row[0]) + at].add(row[1])
inner = [a for a in lanes if isa.get(a, "").startswith(("v_fmamk", "v_fmac")) and "0x3fc00000" in isa[a]]
assert inner and all(lanes[a] == {"000000000000ffff"} for a in inner), lanes
assert lanes[hottest] == {"f" * 16}, lanes[hottest]
# Traps come every microsecond (ROCr makes nanoseconds of the times); each is for one slot of one SIMD, in turn.
ticks = [int(row[7]) for row in rows]
assert ticks == sorted(ticks) and len({t % 1000 for t in ticks}) == 1
turns = {(int(row[7]) // 1000 - (int(row[6], 16) >> 4 & 3) * 8 - (int(row[6], 16) & 15)) % 32 for row in rows}
assert len(turns) == 1, turns
packets = {int(row[8], 16) & 0xffffff for row in rows}
assert len(packets) == 10, sorted(packets)
for row in rows:
    x, y, z, wave_and_xcc = map(int, row[2:6])
    assert x < 512 and y == z == 0 and (wave_and_xcc & 63) < 4 and wave_and_xcc >> 8 < 8, row
PY

# The same again, byte by byte; and of a buffer of two records nothing is lost either.
sampled ./pc_samples 1 3 && cp samples three
sampled ./pc_samples 1 3
cmp -s samples three || fail 'a second run has other samples'
sampled ./pc_samples 1 3 2 && says out 'lost 0'
[ "$(wc -l <samples)" -gt 400 ] || fail 'samples of a small buffer'
# Longer intervals give fewer samples, and one that is longer than the run gives none.
sampled ./pc_samples 10 3
n=$(wc -l <samples)
[ "$n" -gt 5 ] && [ "$n" -lt $(($(wc -l <three) / 5)) ] || fail "$n samples at ten microseconds"
expect 0 rocm-perf run ./pc_samples 100000000000 1
says out 'lost 0'

# What it needs is said.
expect 1 rocm-perf run --timing counts ./pc_samples 1
says err 'rocm-perf-device: PC sampling needs detailed timing: use --timing detailed'
export ROCM_PERF_DEVICE_PC_SAMPLING=off
expect 1 rocm-perf run ./pc_samples 1
says err 'hsa_ven_amd_pcs_iterate_configuration'
export ROCM_PERF_DEVICE_PC_SAMPLING=perhaps
expect 2 rocm-perf run ./pc_samples
says err 'ROCM_PERF_DEVICE_PC_SAMPLING=perhaps: use on or off, or unset it'

# With exceptions in place of the inactive signal faults are told as before.
export ROCM_PERF_DEVICE_PC_SAMPLING=on
expect 0 rocm-perf hipcc -O2 "$SOURCE/tests/e2e/device/fault.hip" -o fault
expect 42 rocm-perf run ./fault store
says out 'hipDeviceSynchronize: hipErrorIllegalAddress'
says err 'memory access fault'
