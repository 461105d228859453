# Never the whole space, nor more than the share that may be run: also where that is nothing.
# (One process of Python for all: each start takes longer than a search.)
python3 - <<'END'
import json, math, subprocess
for n in range(1, 11):
    with open("small.json", "w") as space:
        json.dump({"name": "small", "parameters": ["A"], "configs": [{"A": i, "runtime_ms": i + 1.5} for i in range(n)]}, space)
    for share in (0.2, 0.5, 1):
        name = f"result-{n}-{share}.json"
        with open(name, "w") as result:
            status = subprocess.call(["rocm-perf", "autotune", "--simulate", "small.json", "--max-fraction", f"{share:g}", "--json"],
                                     stdout=result, stderr=subprocess.DEVNULL)
        r = json.load(open(name))
        assert r["evaluated_configs"] <= math.floor(share * n) and r["evaluated_configs"] < n
        print(f"{n} x {share:g}: {r['evaluated_configs']} evaluated, {r['ended_by']}, {r['warning']}, exit {status}, best",
              r["best_config"] and r["best_config"]["parameters"])
END
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/autotune.schema.json" result-*.json >valid || cat valid
echo '{"name": "small", "parameters": ["A"], "configs": [{"A": 1, "runtime_ms": 2}, {"A": 2, "runtime_ms": 1}]}' >two.json
rocm-perf autotune --simulate two.json
echo "exit $?"
echo '{"name": "small", "parameters": ["A"], "configs": [{"A": 1, "runtime_ms": 2}]}' >one.json
rocm-perf autotune --simulate one.json
echo "exit $?"
echo '{"name": "bad", "parameters": ["A"], "configs": [{"A": 1, "runtime_ms": null}, {"A": 2, "runtime_ms": null}]}' >bad.json
rocm-perf autotune --simulate bad.json --max-fraction 1
echo "exit $?"
