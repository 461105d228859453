# Whole programs forty times, with one thread and with two: the same results and the same modelled
# times, to the last bit.
. "$(dirname "$0")/../lib.sh"
example steady
for threads in 1 2; do
    expect 0 rocm-perf profile --device software --threads $threads --runs 20 -o "with$threads" ./steady "$PWD/log"
done
[ "$(wc -l <log)" = 40 ] || fail "$(wc -l <log) runs instead of 40"
[ "$(sort -u log | wc -l)" = 1 ] || { sort log | uniq -c >&2; fail 'results or event times differ'; }
python3 - <<'EOF'
import json
one, two = (json.load(open(f"with{threads}/profile.json")) for threads in (1, 2))
for profile in one, two:
    stability = profile["stability"]
    assert stability["runs"] == 20 and stability["stddev_ms"] == 0, stability
    assert profile["runtime_ms"] > 0 and len(profile["kernels"]) >= 3
for key in one.keys() - {"provenance"}:
    assert one[key] == two[key], (key, one[key], two[key])
EOF
# Each dispatch and copy of the traces too, with names and durations; not when the host submitted it.
durations() {
    sqlite3 "$1/trace_results.db" "select name, end - start from kernels order by start; select name, end - start from memory_copies order by start"
}
durations with1 >one.txt
durations with2 >two.txt
[ -s one.txt ] || fail 'no dispatch in the trace'
cmp one.txt two.txt || fail 'durations of the traces differ'

# Detailed timing and counters, in each of forty databases: what is of the device is the same.
of_the_device() {
    sqlite3 "$1" "select name, end - start, grid_x, workgroup_x from kernels order by start;
        select name, end - start, size from memory_copies order by start;
        select kernel_name, counter_name, value from counters_collection order by dispatch_id, counter_name"
}
while :; do sleep 0.2; timeout 0.3 sh -c 'while :; do :; done' || true; done & # the host has other work, now and then
busy=$!
trap 'kill $busy || true; rm -rf "$SCRATCH"' EXIT
for run in $(seq 40); do
    expect 0 rocm-perf profile --device software --timing detailed --threads $((run % 2 + 1)) --runs 1 -o "detailed$run" \
        --pmc SQ_WAVES,SQ_INSTS_VALU,TCP_TOTAL_CACHE_ACCESSES_sum,TCC_REQ_sum,TCC_HIT_sum,TCC_EA0_RDREQ_sum ./steady "$PWD/log"
    of_the_device "detailed$run/trace_results.db" >"detailed$run.txt"
    cmp detailed1.txt "detailed$run.txt" || fail "run $run differs from the first"
done
[ "$(grep -c TCC_HIT_sum detailed1.txt)" -ge 3 ] || fail 'no counters in the trace'
cut -d '|' -f 2 one.txt >counts.txt
! cut -d '|' -f 2 detailed1.txt | head -n "$(wc -l <counts.txt)" | cmp -s - counts.txt ||
    fail 'detailed timing is not in force'

# Several streams on a busy host: what runs beside what is the program's business alone. When each
# dispatch and copy began, not only how long it took.
kill $busy
while :; do :; done & # for as long as it takes
busy=$!
timeline() {
    sqlite3 "$1" "select name, start - (select min(start) from kernels), end - start, stream_id, queue_id from kernels order by start, queue_id;
        select name, start - (select min(start) from kernels), end - start, size from memory_copies order by start, size"
}
example concurrent
for run in $(seq 40); do
    expect 0 rocm-perf profile --device software --threads $((run % 2 + 1)) --runs 1 -o "concurrent$run" ./concurrent
    timeline "concurrent$run/trace_results.db" >"concurrent$run.txt"
    diff concurrent1.txt "concurrent$run.txt" >&2 || fail "concurrent, run $run differs from the first"
done
python3 - concurrent1/trace_results.db concurrent1/profile.json <<'EOF' || fail 'what overlaps what'
import json, sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("select name, start, end, queue_id from kernels order by start").fetchall()
of = lambda name: [r for r in rows if r[0].startswith(name)]
overlap = lambda a, b: a[1] < b[2] and b[1] < a[2]
produced, consumed, aside = of("produce"), of("consume"), of("aside")
assert (len(produced), len(consumed), len(aside)) == (6, 12, 12), rows
# The consumers of a round come after its producer and before the next one, by their queues' order.
queues = sorted({r[3] for r in consumed})
assert len(queues) == 2, queues
for queue in queues:
    for n, c in enumerate(r for r in consumed if r[3] == queue):
        assert produced[n][2] <= c[1], (n, produced[n], c)
        assert n == 5 or c[2] <= produced[n + 1][1], (n, c, produced[n + 1])
assert any(overlap(a, b) for a in consumed for b in consumed if a[3] != b[3]), "the consumers do not overlap"
assert sum(any(overlap(p, a) for a in aside) for p in produced) >= 2, "nothing runs beside the producer"
for queue in {r[3] for r in rows}:
    line = [r for r in rows if r[3] == queue]
    assert all(a[2] <= b[1] for a, b in zip(line, line[1:])), "a queue runs one at a time"
# Each is timed as though alone, which results say.
beside = sum(any(a is not b and overlap(a, b) for b in rows) for a in rows)
ends = sorted({t for r in rows for t in r[1:3]})
ns = sum(b - a for a, b in zip(ends, ends[1:]) if sum(r[1] <= a and r[2] >= b for r in rows) > 1)
overlapped = json.load(open(sys.argv[2]))["timing"]["overlapped"]
assert overlapped == {"dispatches": beside, "ns": ns} and beside > 2, (overlapped, beside, ns)
EOF

# A thread that hears of work by a host function knows of its end.
example host_function
expect 0 rocm-perf profile --device software --runs 1 -o hosted ./host_function
python3 - hosted/trace_results.db <<'EOF' || fail 'what comes after a host function'
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("select name, start, end from kernels order by start").fetchall()
first, then, other = ([r for r in rows if r[0].startswith(name)] for name in ("before", "behind", "elsewhere"))
assert len(first) == len(then) == len(other) == 20, rows
for b, t, e in zip(first, then, other):
    assert b[2] <= t[1] and b[2] <= e[1], (b, t, e)
EOF

# Who destroys a stream waits for it.
example destroyed
for run in 1 2 3; do
    expect 0 rocm-perf profile --device software --runs 1 -o "destroyed$run" ./destroyed
    timeline "destroyed$run/trace_results.db" >"destroyed$run.txt"
    diff destroyed1.txt "destroyed$run.txt" >&2 || fail "destroyed, run $run differs from the first"
done
[ "$(grep -c '^work' destroyed1.txt)" = 20 ] || { cat destroyed1.txt; fail "kernels of streams that were destroyed"; }

# What one thread has waited for, the others know, too.
example handover
expect 0 rocm-perf profile --device software --runs 1 -o handed ./handover
python3 - handed/trace_results.db <<'EOF' || fail 'what another thread submits after a wait'
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("select name, start, end from kernels order by start").fetchall()
rows = [r for r in rows if r[0].startswith(("left", "right"))]
assert [r[0][0] for r in rows] == ["l", "r"] * 50, [r[0] for r in rows]
assert all(a[2] <= b[1] for a, b in zip(rows, rows[1:])), rows
EOF
