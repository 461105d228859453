# Never the whole space, nor more than the share that may be run: also where that is nothing.
for n in 1 2 3 4 5 6 7 8 9 10; do
    python3 -c 'import json, sys; n = int(sys.argv[1]); json.dump({"name": "small", "parameters": ["A"], "configs": [{"A": i, "runtime_ms": i + 1.5} for i in range(n)]}, open("small.json", "w"))' $n
    for share in 0.2 0.5 1; do
        rocm-perf autotune --simulate small.json --max-fraction $share --json >result.json 2>/dev/null
        echo "exit $?" >status
        python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/autotune.schema.json" result.json >valid || cat valid
        python3 - "$n" "$share" "$(cat status)" <<'END'
import json, math, sys
n, share, status = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
r = json.load(open("result.json"))
assert r["evaluated_configs"] <= math.floor(share * n) and r["evaluated_configs"] < n
print(f"{n} x {share:g}: {r['evaluated_configs']} evaluated, {r['ended_by']}, {r['warning']}, {status}, best", r["best_config"] and r["best_config"]["parameters"])
END
    done
done
echo '{"name": "small", "parameters": ["A"], "configs": [{"A": 1, "runtime_ms": 2}, {"A": 2, "runtime_ms": 1}]}' >two.json
rocm-perf autotune --simulate two.json
echo "exit $?"
echo '{"name": "small", "parameters": ["A"], "configs": [{"A": 1, "runtime_ms": 2}]}' >one.json
rocm-perf autotune --simulate one.json
echo "exit $?"
echo '{"name": "bad", "parameters": ["A"], "configs": [{"A": 1, "runtime_ms": null}, {"A": 2, "runtime_ms": null}]}' >bad.json
rocm-perf autotune --simulate bad.json --max-fraction 1
echo "exit $?"
