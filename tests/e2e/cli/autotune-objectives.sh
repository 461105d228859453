# Searches by other numbers than the time: of the output, of the profile, of what was recorded; several at once; limits.
. "$(dirname "$0")/../lib.sh"
export ROCM_PERF_DEVICE_TIMING=detailed
valid() { python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/autotune.schema.json" "$@" >valid || { cat valid; fail schema; }; }

# A cache of Kernel Tuner with further numbers: speed, and an energy that has another best configuration.
python3 - <<'END2'
import itertools, json
cache = {}
for a, b, c in itertools.product([1, 2, 4, 8, 16, 32, 64], [1, 2, 4, 8, 16], range(16)):
    t = 1 + abs(a - 16) / 8 + abs(b - 4) / 2 + abs(c - 3) / 3
    cache[f"{a},{b},{c}"] = {"A": a, "B": b, "C": c, "time": t, "GFLOP/s": 1000 / t, "energy": (a * b * 0.05 + 1) * (1 + c * 0.1), "regs": 16 * a}
json.dump({"device_name": "d", "kernel_name": "k", "tune_params_keys": ["A", "B", "C"], "cache": cache}, open("cache.json", "w"))
END2
for i in $(seq 10); do
    expect 0 rocm-perf autotune --simulate cache.json --objective max:GFLOP/s --objective min:energy --seed "$i" --budget-evals 70 --json
    mv out "front-$i.json"
    expect 0 rocm-perf autotune --simulate cache.json --objective max:GFLOP/s --objective min:energy --seed "$i" --budget-evals 70 --strategy random --json
    mv out "random-$i.json"
done
valid front-*.json
python3 - <<'END2' || fail 'the front'
import json
best = lambda a, b: a["GFLOP/s"] >= b["GFLOP/s"] and a["energy"] <= b["energy"] and a != b
def area(front): # that is dominated, from a speed of 0 and an energy of 20 on
    total, speed = 0, 0
    for v in sorted((f["values"] for f in front), key=lambda v: (v["energy"], -v["GFLOP/s"])):
        if v["GFLOP/s"] > speed and v["energy"] < 20:
            total += (v["GFLOP/s"] - speed) * (20 - v["energy"])
            speed = v["GFLOP/s"]
    return total
every = [{"values": c} for c in json.load(open("cache.json"))["cache"].values()]
sums = {}
for kind in "front", "random":
    for i in range(1, 11):
        r = json.load(open(f"{kind}-{i}.json"))
        ran = [h["values"] for h in r["history"]]
        front = [f["values"] for f in r["pareto_front"]]
        assert all(not best(a, b) for b in front for a in ran) and all(v in front or any(best(a, v) for a in ran) for v in ran)
        assert [o["name"] for o in r["objectives"]] == ["GFLOP/s", "energy"] and [o["goal"] for o in r["objectives"]] == ["max", "min"]
        assert r["best_config"]["values"] == max(front, key=lambda v: v["GFLOP/s"]) and r["best_config"]["runtime_ms"] is None
        sums[kind] = sums.get(kind, 0) + area(r["pareto_front"]) / 10 / area(every)
print(sums)
assert sums["front"] > 0.97 and sums["front"] > sums["random"] + 0.03, sums
END2
expect 0 rocm-perf autotune --simulate cache.json --objective max:GFLOP/s --objective min:energy
head -1 out | grep -Eq '^Front  [0-9]+ configurations of 112 evaluated: no other is better in one of GFLOP/s and energy and worse in none' || { cat out; fail 'the verdict'; }
expect 0 rocm-perf autotune --simulate cache.json --objective max:GFLOP/s --quiet --plot search.svg --export-t4 t4.json
[ "$(cat out)" = 1000 ] && grep -q 'best: GFLOP/s 1000' search.svg || { cat out; fail 'one objective'; }
python3 -c 'import json; r = json.load(open("t4.json"))["results"]
assert len(r) == 112 and all(x["objectives"] == ["GFLOP/s"] and x["measurements"][0]["value"] > 0 for x in r)' || fail 'T4 with another objective'
expect 0 rocm-perf autotune --simulate cache.json --limit 'regs<=64' --json
valid out
python3 - <<'END2' || fail 'limits'
import json
r = json.load(open("out"))
assert r["best_config"]["values"]["regs"] <= 64 and r["best_config"]["runtime_ms"] == r["best_config"]["values"]["time"]
outcomes = {h["outcome"] for h in r["history"]}
assert outcomes == {"ok", "limit"} and r["failures"]["limit"] == sum(h["outcome"] == "limit" for h in r["history"])
assert all((h["parameters"]["A"] <= 4) == (h["outcome"] == "ok") for h in r["history"])
END2
expect 2 rocm-perf autotune --simulate cache.json --objective min:nothing
says err 'nothing is not in the recorded space, which has time, GFLOP/s, energy, regs'
expect 2 rocm-perf autotune --simulate cache.json --objective GFLOPS
says err 'max:GFLOPS'

echo '{"device_name": "d", "kernel_name": "k", "tune_params_keys": ["A"], "cache": {"1": {"A": 1, "time": 1, "x": 2}}}' >one.json
expect 0 rocm-perf autotune --simulate one.json --objective time --objective min:x
says out 'Best   not run A=1'

# Of programs: two printed numbers, and a journal that goes on to the same result.
echo '{"A": [1, 2, 3, 4, 5, 6, 7, 8], "B": [1, 2, 3, 4]}' >space.json
echo 'echo "GFLOPS: $(($1 * 10))"; echo "waste=$(($1 * $1 + $2))"; echo "{\"zero\": 0}"' >run.sh
live() { rocm-perf autotune --device software --space space.json --cmd-template 'sh run.sh {A} {B}' --repeats 1:1 --warmup 0 "$@"; }
expect 0 live --objective max:GFLOPS --objective 'min:waste=waste=([0-9]+)' --limit 'GFLOPS<=60' --budget-evals 14 --max-fraction 0.9 -o whole
expect 0 live --objective max:GFLOPS --objective 'min:waste=waste=([0-9]+)' --limit 'GFLOPS<=60' --budget-evals 6 --max-fraction 0.9 -o parts
expect 0 live --objective max:GFLOPS --objective 'min:waste=waste=([0-9]+)' --limit 'GFLOPS<=60' --budget-evals 14 --max-fraction 0.9 -o parts --resume
valid whole/autotune.json parts/autotune.json
python3 - <<'END2' || fail 'going on'
import json
a, b = (json.load(open(f + "/autotune.json")) for f in ("whole", "parts"))
assert a["pareto_front"] == b["pareto_front"] and len(a["history"]) == 14, (a["pareto_front"], b["pareto_front"])
assert all(f["values"]["GFLOPS"] == 10 * f["parameters"]["A"] <= 60 for f in a["pareto_front"])
END2
expect 2 live --objective max:GFLOPS -o parts --resume
says err '--objective and --limit was'
expect 1 live --objective min:zero -o zero --budget-evals 3
says out 'zero is 0: an objective must be above 0, as ratios are compared'
expect 1 live --objective max:absent -o absent --budget-evals 3
says out 'absent: nothing that it printed matches'
expect 2 live --objective max:GFLOPS --output-regex x -o mistake
says err 'leave out --output-regex'

# Of the profile: registers, bytes of LDS and of HBM come with the time.
cat >kernel.hip <<'END2'
#include <hip/hip_runtime.h>
#include <stdlib.h>
__global__ void add(float *a, int n) { __shared__ float s[256]; int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0; __syncthreads(); if (i < n) a[i] = s[(threadIdx.x + 1) % blockDim.x]; }
int main(int argc, char **argv) { int n = atoi(argv[1]); float *a; hipMalloc(&a, n * 4); hipMemset(a, 0, n * 4);
    add<<<(n + 255) / 256, 256>>>(a, n); return hipDeviceSynchronize(); }
END2
rocm-perf hipcc -O3 kernel.hip -o kernel >build.log 2>&1 || { cat build.log; fail 'it does not build'; }
echo '{"N": [1024, 65536, 262144]}' >sizes.json
expect 0 rocm-perf autotune --device software --space sizes.json --cmd-template './kernel {N}' --max-fraction 0.99 --objective hbm \
    --objective time --limit 'lds<=4096' --limit 'vgprs>=1' --json -o traffic
valid out
python3 - <<'END2' || fail 'numbers of the profile'
import json
r = json.load(open("out"))
assert len(r["history"]) == 2 and r["confirmed"]
for h in r["history"]:
    v, n = h["values"], h["parameters"]["N"]
    assert v["lds"] == 1024 and 1 <= v["vgprs"] <= 64 and v["time"] == h["runtime_ms"] > 0, h
    assert n * 4 <= v["hbm"] <= n * 4 * 6 + 65536, h
END2
