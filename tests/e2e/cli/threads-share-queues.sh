# With more threads than hardware queues, each launch stands under its own thread, stream and call, and none is lost.
. "$(dirname "$0")/../lib.sh"
rocm-perf hipcc -cuid=own_streams "$SOURCE/tests/e2e/programs/own_streams.hip" -lroctx64 -o own_streams 2>hipcc.err || {
    echo 'int roctxRangePushA(const char *m) { return !m; } int roctxRangePop(void) { return 0; }' >roctx.c
    cc -shared -fPIC -o libroctx64.so roctx.c
    rocm-perf hipcc -cuid=own_streams "$SOURCE/tests/e2e/programs/own_streams.hip" -L. -lroctx64 "-Wl,-rpath,$PWD" \
        -o own_streams
}
for i in 1 2 3 4 5; do
    expect 0 rocm-perf profile --device software --runs 1 -o all ./own_streams
    python3 - all/trace_results.db <<'END' || fail "run $i: a launch under another thread"
import collections, sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("""select k.name, k.tid, k.stream, r.name, r.tid, r.id from kernels k
    left join regions r on r.id = k.stack_id where k.name like '%of_thread%'""").fetchall()
assert len(rows) == 1600, len(rows)
assert all(call == "hipLaunchKernel" and tid == caller for _, tid, _, call, caller, _ in rows)
assert len({row[5] for row in rows}) == 1600
counts = collections.Counter(row[:3] for row in rows)
assert len(counts) == 64 and set(counts.values()) == {25}, counts
END
    expect 0 rocm-perf profile --device software --runs 1 --roctx-range even -o even ./own_streams
    python3 - even/profile.json <<'END' || fail "run $i: a launch in the range is missing"
import json, re, sys
calls = {int(re.search(r"<(\d+)>", k["name"])[1]): k["calls"] for k in json.load(open(sys.argv[1]))["kernels"]}
assert all(calls.get(n) == 100 for n in range(0, 16, 2)), calls
END
done
