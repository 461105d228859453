# exit 1
# Kernels that the first run of a side did not launch, and rows of a name that it did.
python3 - "$SOURCE/tests/data/compare" <<'END'
import json, sys
for name, slow in (("before", 1), ("after", 1.1)):
    profile = json.load(open(f"{sys.argv[1]}/{name}.json"))
    late = {"name": "late(int)", "symbol": "_Z4latei", "runtime_internal": False, "gpu": 0,
            "runs_calls": [0] + [4] * 9, "runs_ms": [None] + [slow + i % 3 / 1000 for i in range(9)],
            "grid": [64, 1, 1], "block": [64, 1, 1],
            "resources": {"vgpr_per_thread": 32 if slow == 1 else 40, "lds_bytes": 0}, "occupancy": {"theoretical": 1}}
    other = dict(late, name="reduce(float*)", runs_ms=[None, 10] + [None] * 8)
    alone = dict(late, name=f"only_{name}()")
    profile["repeat_kernels"] = [late, other, alone]
    json.dump(profile, open(f"{name}.json", "w"))
END
rocm-perf compare before.json after.json --gate 'kernel:late:runtime<=1.05' --gate 'kernel:late:dispatches<=4' --gate 'kernel:late:vgprs<=before'
code=$?
rocm-perf compare --json before.json after.json >out.json
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/compare.schema.json" out.json
rocm-perf compare --junit - before.json after.json | grep -A3 'name="late(int)"'
sed 's/"repeat_kernels": \[/"repeat_kernels": [7, /' before.json >bad.json
rocm-perf compare bad.json after.json || echo "exit $?"
exit $code
