# A whole program forty times, with one thread and with two: the same results and the same modelled
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
