# Odd traces of the PyTorch profiler: each gets one line that says what it lacks, or one error with its remedy.
cat >odd.py <<'END'
import copy, json, os, sys
base = json.load(open(os.path.join(os.environ["SOURCE"], "tests/data/kineto/small.json")))
def write(path, change, encoding="utf-8"):
    trace = copy.deepcopy(base)
    text = change(trace, {e["name"]: e for e in trace["traceEvents"]})
    with open(path, "wb") as f:
        f.write((text or json.dumps(trace)).encode(encoding))
def rank(**info):
    return lambda t, e: t["distributedInfo"].update(info) or [x.update(pid=50 + (info["rank"] if type(info["rank"]) is int else 0)) for x in t["traceEvents"] if x["pid"]] and None
def pairs(t, e):
    made = []
    for x in t["traceEvents"]:
        if x["cat"] in ("cpu_op", "user_annotation"):
            end = {"ph": "E", "name": x["name"], "pid": x["pid"], "tid": x["tid"], "ts": x["ts"] + x.pop("dur")}
            made += [dict(x, ph="B"), end]
        else:
            made.append(x)
    t["traceEvents"] = made
def no_dur(t, e): del e["aten::mm"]["dur"]
def negative(t, e): e["aten::mm"]["dur"] = -3
def no_correlation(t, e): del e["gemm_second"]["args"]["correlation"]
def twice(t, e): t["traceEvents"] *= 2
def no_time(t, e): e["gemm_first"]["dur"] = None
def null(t, e): t["traceEvents"].insert(2, None)
def later(t, e): t["baseTimeNanoseconds"] += 10**9; rank(rank=1)(t, e)
for r in range(4):
    os.makedirs(f"ranks", exist_ok=True); write(f"ranks/{r}.json", rank(rank=r, world_size=4))
for name, ranks in (("missing", (0, 2)), ("doubled", (0, 0, 1))):
    os.makedirs(name)
    for i, r in enumerate(ranks):
        write(f"{name}/{i}.json", lambda t, e: rank(rank=r, world_size=max(ranks) + 1)(t, e) or [x.update(pid=70 + i) for x in t["traceEvents"] if x["pid"]] and None)
os.makedirs("uuid")
for r in range(2):
    write(f"uuid/{r}.json", lambda t, e: rank(rank=r)(t, e) or t["deviceProperties"][0].update(uuid="0f2a") )
for i, r in enumerate((9, -1, "zero")):
    write(f"impossible{i}.json", rank(rank=r))
for change in (pairs, no_dur, negative, no_correlation, twice, no_time, null):
    write(change.__name__ + ".json", change)
write("bom.json", lambda t, e: "\ufeff" + json.dumps(t))
write("utf16.json", lambda t, e: None, "utf-16")
write("behind.json", lambda t, e: json.dumps(t) + "\n{}")
os.makedirs("apart"); write("apart/0.json", lambda t, e: None); write("apart/1.json", later)
END
SOURCE="$SOURCE" python3 odd.py
say() { echo "== $1"; rocm-perf analyze "$1" 2>&1 | grep -E "$2"; }
rocm-perf analyze --json ranks | python3 -c 'import json, sys; [print(a["agent_id"], a["rank"], a["busy_ns"], a["idle_ns"]) for a in json.load(sys.stdin)["idle"]["agents"]]'
say ranks '^ .*busy'
rocm-perf analyze --json uuid | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["idle"]["agents"]), "GPU")'
for trace in missing doubled impossible0.json impossible1.json impossible2.json; do say $trace '^rocm-perf|launches started'; done
say pairs.json '^rocm-perf|launch(es)?  |around'
for trace in no_dur negative no_correlation twice; do say $trace.json '^rocm-perf|launch(es)?  |around|started no kernel|in no range'; done
say no_time.json '^rocm-perf|^Kernels|launch(es)?  |not after'
for trace in null.json bom.json utf16.json behind.json apart; do rocm-perf analyze $trace; echo "exit $?"; done
rocm-perf analyze --max-inferred 0 "$SOURCE/tests/data/kineto/small.json" | grep guessed; echo "exit ${PIPESTATUS[0]}"
cp "$SOURCE/tests/data/rocpd/vadd-kernel_results.db" soft.db && python3 - <<'END'
import sqlite3
db = sqlite3.connect("soft.db")
meta = next(n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type='table' AND name LIKE 'rocpd_metadata%'"))
db.execute(f"INSERT INTO {meta}(tag, value) VALUES('rocm_perf_device', 'software')")
db.commit()
END
rocm-perf analyze "$SOURCE/tests/data/kineto/small.json" soft.db; echo "exit $?"
# What the trace does not say is empty, absent or null, not 0.
rocm-perf report --format csv -o - "$SOURCE/tests/data/kineto/small.json" | python3 -c 'import csv, sys; [print(r["kernel"], [r[c] for c in ("vgprs", "lds_bytes", "scratch_bytes", "grid_size", "workgroup_size")]) for r in csv.DictReader(sys.stdin)]'
rocm-perf report --format openmetrics -o - "$SOURCE/tests/data/kineto/small.json" | grep -E '^rocm_perf_kernel_(lds|scratch|grid|workgroup)'
