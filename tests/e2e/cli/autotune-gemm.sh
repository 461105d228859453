# A tiled matrix product whose tiles are chosen when it is compiled: a fifth of all configurations is enough to
# find one within 5 % of the best. How fast each of them is on the software device was found by running all
# of them once (tests/data/tune/tiled_sgemm.json).
. "$(dirname "$0")/../lib.sh"
export ROCM_PERF_DEVICE_TIMING=detailed # counts compare as intervals
cp "$SOURCE/examples/tiled_sgemm.hip" "$SOURCE/examples/tiled_sgemm.json" "$SOURCE/examples/check.h" .
all=$SOURCE/tests/data/tune/tiled_sgemm.json
expect 0 rocm-perf autotune --device software --space tiled_sgemm.json --patience 15 --json --plot search.svg \
    --build 'rocm-perf hipcc -O3 tiled_sgemm.hip -o {output} -DBLOCK_M={BLOCK_M} -DBLOCK_N={BLOCK_N} -DBLOCK_K={BLOCK_K} -DUNROLL={UNROLL} -DVECTOR={VECTOR}' \
    --cmd-template '{output} 128' --check 'grep -q PASS'
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/autotune.schema.json" autotune_result/autotune.json
cmp out autotune_result/autotune.json || fail 'the file is not what was printed'
python3 - "$all" <<'END' || { cat err; fail 'not found, or not as it was recorded'; }
import json, sys
recorded, result = json.load(open(sys.argv[1])), json.load(open("out"))
names = recorded["parameters"]
times = {tuple(c[n] for n in names): c["runtime_ms"] for c in recorded["configs"]}
optimum = min(t for t in times.values() if t)
assert result["search_space_size"] == len(times) and result["evaluated_configs"] <= len(times) // 5
assert result["device"] == "software" and result["objective"] == "dispatch"
for h in result["history"]:
    t = times[tuple(h["parameters"][n] for n in names)]
    # what does not compile, or computes something else, is the same; times change with compiler and model
    assert (t is None) == (h["outcome"] != "ok") or h["outcome"] == "timeout", h
best = times[tuple(result["best_config"]["parameters"][n] for n in names)]
print(f"optimum {optimum}, found {best}, {result['evaluated_configs']} of {len(times)}, failures {result['failures']}")
assert best <= 1.05 * optimum
assert result["failures"]["not built"] > 0
END
