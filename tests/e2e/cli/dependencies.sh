# What waits for what, as the collector records it, against the list of what the program orders.
. "$(dirname "$0")/../lib.sh"
example dependencies

cat >check.py <<'EOF'
import sqlite3, sys

# second: firsts. Numbers are those of the program's steps.
TRUE = {
    "1": ["gate"], "2": ["gate"], "3": ["gate"],
    "4": ["1"],
    "5": ["2", "4"],
    "6": ["4"],
    "7": ["4", "6"],
    "8": ["3"],
    "in": ["5"],
    "9": ["in", "5"],
    "out": ["8", "9"],
}
GRAPH = {"20": ["9"], "21": ["20"], "22": ["20"], "23": ["21", "22"], "out": ["8", "23"]}
# What follows hipDeviceSynchronize waits for the host, not on the device.
BEHIND = "last"

db = sqlite3.connect(sys.argv[1])
wanted = dict(TRUE, **(GRAPH if sys.argv[2] == "graph" else {}))
sizes = {1 << 20: "in", 2 << 20: "out", 4 << 20: BEHIND}
name, queue = {}, {}
for id, kernel, q in db.execute("SELECT dispatch_id, name, queue_id FROM kernels ORDER BY dispatch_id"):
    name[0, id] = kernel.split("(")[0].replace("void step<", "").replace(">", "")
    queue.setdefault(q, []).append(name[0, id])
for id, bytes in db.execute("SELECT id, size FROM rocpd_memory_copy"):
    name[1, id] = sizes[bytes]
assert sorted(name.values()) == sorted(["gate", BEHIND, *wanted]), name
recorded = {}
for copy, id, before_copy, before in db.execute(
        "SELECT is_copy, row_id, waits_for_copy, waits_for_id FROM rocm_perf_dependency"):
    recorded.setdefault(name[copy, id], []).append(name[before_copy, before])

def closure(edges):
    whole = set()
    def walk(start, at):
        for before in edges.get(at, []):
            if (start, before) not in whole:
                whole.add((start, before))
                walk(start, before)
    for start in edges:
        walk(start, start)
    return whole

# A graph's branches run on streams of HIP's own, which share hardware queues with others: there a
# kernel waits for the one before it whether the program wants it or not.
if sys.argv[2] == "graph":
    for packets in queue.values():
        for first, second in zip(packets, packets[1:]):
            wanted[second] = wanted.get(second, []) + [first]
else:
    assert all(len(set(closure(TRUE) & {(b, a) for a, b in zip(p, p[1:])})) == len(p) - 1
               for p in queue.values()), queue
got, true = ({e for e in closure(w) if BEHIND not in e} for w in (recorded, wanted))
assert got == true, f"not recorded: {sorted(true - got)}, not true: {sorted(got - true)}"
assert db.execute("SELECT count(*) FROM rocpd_metadata WHERE tag = 'rocm_perf_unknown_waits'"
                  ).fetchone() == (0,)
# The DAG's edges between kernels and copies: see below.
print(len(got))
EOF

for kind in streams graph; do
    [ $kind = graph ] && argument=graph || argument=
    for run in 1 2; do
        rocm-perf profile --device software --runs 1 --quiet -o $kind$run ./dependencies $argument \
            >/dev/null 2>err || { cat err; fail "profile $kind"; }
        python3 check.py $kind$run/trace_results.db $kind >count || fail "dependencies of $kind"
    done
    # Calls, streams and dependencies are the same each time.
    for run in 1 2; do
        python3 - $kind$run/trace_results.db >rows$run <<'EOF'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for query in ("SELECT id, is_copy, row_id, waits_for_copy, waits_for_id FROM rocm_perf_dependency",
              "SELECT id, name, stack_id FROM regions ORDER BY id",
              "SELECT dispatch_id, name, stream_id, queue_id, stack_id FROM kernels ORDER BY 1"):
    for row in db.execute(query):
        print(*row)
EOF
    done
    cmp rows1 rows2 || { diff rows1 rows2; fail "two runs of $kind differ"; }
done

# The program's critical path rests on what was recorded, and nothing is guessed.
expect 0 rocm-perf analyze --json streams1/trace_results.db
cp out dag.json
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/dag.schema.json" dag.json
python3 - <<'EOF' || fail 'grades of the graph'
import json
dag = json.load(open("dag.json"))
grades = dag["grades"]
assert grades["partial"]["edges"] == grades["inferred"]["edges"] == 0, grades
assert dag["repairs"]["dropped_edges"] == 0, dag["repairs"]
# Derived are only the waits of the host and markers that no work stands behind.
assert grades["recorded"]["path_share"] > 0.99, grades
EOF

# A thread that is joined: the path leads through what it has waited for, and that counts in what-ifs.
example joined
expect 0 rocm-perf profile --device software --runs 1 -o joined-result ./joined
expect 0 rocm-perf analyze --json joined-result
python3 - out <<'END' || fail "joined: $(cat out)"
import json, sys
dag = json.load(open(sys.argv[1]))
path = {name: ns for name, ns in dag["critical_path"]["by_class"].items() if ns}
free = [w["makespan_ns"] for w in dag["what_if"] if w["symbol"].startswith("step") and w["factor"] == "inf"]
print(path, free, dag["makespan_ns"])
sys.exit(set(path) != {"copy", "kernel"} or free != [path["copy"]] or sum(path.values()) != dag["makespan_ns"])
END
