# exit 1
# One run of each side: what its launches tell, which says nothing of other runs. A series with a step has no interval.
cat >many.py <<'PY'
"""The trace of tests/data/rocpd with 60 launches of its kernel, whose times are given."""
import os, sqlite3
source = sqlite3.connect(os.environ["SOURCE"] + "/tests/data/rocpd/vadd-kernel_results.db")
dump = "\n".join(source.iterdump())

def many(out, took):
    os.makedirs(os.path.dirname(out), exist_ok=True)
    db = sqlite3.connect(out, isolation_level=None)
    db.executescript("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY;" + dump)
    table = next(name for name, in db.execute("select name from sqlite_master where type = 'table' and name like 'rocpd_kernel_dispatch%'"))
    names = [row[1] for row in db.execute(f"pragma table_info({table})")]
    first = dict(zip(names, db.execute(f"select * from {table} order by start desc").fetchone()))
    db.execute(f"delete from {table}")
    for i, us in enumerate(took):
        row = dict(first, id=i + 1, dispatch_id=i + 1, start=first["start"] + 100000 * i)
        row["end"] = row["start"] + int(1000 * us)
        db.execute(f"insert into {table} values ({', '.join('?' * len(names))})", [row[name] for name in names])
    db.close()

noise = lambda i, k: 1 + (i * k % 5) / 200
many("before/x_results.db", [28 * noise(i, 7) for i in range(60)])
many("after/x_results.db", [10 * noise(i, 3) for i in range(60)])
many("near/x_results.db", [25 * noise(i, 3) for i in range(60)])
many("few/x_results.db", [10 * noise(i, 3) for i in range(20)])
many("warm/x_results.db", [(60 if i < 20 else 10) * noise(i, 3) for i in range(60)])
PY
python3 many.py
try() { echo "== $*"; rocm-perf compare "$@"; echo "exit $?"; }
try before after --gate 'runtime<=1' --gate 'runtime_within_run<=0.6' --gate 'kernel:vadd:runtime_within_run<=0.6'
try after before
try before near
try before few
try before warm --gate 'runtime_within_run<=1'
echo "== as JSON, and a page"
rocm-perf compare --json before warm >warm.json
rocm-perf compare --json before after >after.json
for made in warm after; do python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/compare.schema.json" $made.json; done
grep -o '"within_run": {[^}]*}' after.json | sort -u
grep -o '"steps": {.*"of": "[a-z]*"}' warm.json | sort -u
rocm-perf compare --markdown before after | sed -n "5,6p"
echo "== a profile of one run, with its trace beside it, and without"
python3 - <<'PY'
import json, os
for side, us in (("before", 28.28), ("after", 10.1)):
    profile = json.load(open(os.environ["SOURCE"] + "/tests/data/compare/few.json"))
    name = json.load(open("after.json"))["comparisons"][0]["kernels"][0]["name"]
    row = profile["kernels"][0]
    row.update(name=name, calls=60, timed_calls=60, total_ms=us * 60 / 1000, runs_ms=[us * 60 / 1000])
    profile["kernels"] = [row]
    profile["stability"]["runs_ms"] = row["runs_ms"]
    profile["provenance"]["dispatches"] = 60
    os.makedirs(f"profile_{side}")
    json.dump(profile, open(f"profile_{side}/profile.json", "w"))
    os.link(f"{side}/x_results.db", f"profile_{side}/trace_results.db")
PY
rocm-perf compare profile_before profile_after | head -2
rm profile_after/trace_results.db
rocm-perf compare profile_before profile_after | head -2
echo "== runs with a step"
python3 - "$SOURCE/tests/data/compare" <<'PY'
import json, sys
for name, slow in (("before", 4), ("after", 3)):
    profile = json.load(open(f"{sys.argv[1]}/{name}.json"))
    for runs in [profile["stability"]["runs_ms"]] + [k["runs_ms"] for k in profile["kernels"]]:
        runs[:slow] = [10 * ms for ms in runs[:slow]]
    json.dump(profile, open(f"step_{name}.json", "w"))
PY
try step_before.json step_after.json --gate 'runtime<=20'
rocm-perf compare before after --gate 'runtime_within_run<=0.4'
