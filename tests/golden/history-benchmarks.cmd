# exit 1
# Results of other benchmark tools by their JSON: repetitions are runs, benchmarks kernels, and each tool a device.
data=$SOURCE/tests/data/benchmarks
for tool in google nvbench hyperfine; do
    rocm-perf history add --commit '' --at 2026-11-20T10:00:00Z "$data/$tool.json" | sed "s#$data/##"
done
# Several commands are no program; one that failed is not complete; one without a time is left out.
sed 's#"exit_codes": \[0, 0, 0\]}#&, {"command": "./app 128", "times": [0.6], "exit_codes": [1]}#' "$data/hyperfine.json" >two.json
rocm-perf history add two.json
echo "exit $?"
rocm-perf history add --program apps --commit '' --at 2026-11-20T10:00:00Z two.json
sed 's/"run_type": "iteration", "iterations"/"error_occurred": true, &/' "$data/google.json" >error.json
rocm-perf history add --program error --commit '' --at 2026-11-20T10:00:00Z error.json
# What the benchmark has skipped by itself is nothing that failed.
sed 's/"run_type": "iteration", "iterations"/"skipped": true, "skip_message": "no GPU", &/' "$data/google.json" >skipped.json
rocm-perf history add --db skipped.db --program skipped --commit '' --at 2026-11-20T10:00:00Z skipped.json
rocm-perf history list --db skipped.db
rocm-perf compare "$data/google.json" "$data/hyperfine.json" 2>&1 | sed "s#$data/##g"
# The median alone, as with --benchmark_report_aggregates_only.
cat >median.json <<'EOF'
{"context": {"executable": "./b"}, "benchmarks": [
 {"name": "B_mean", "run_name": "B", "run_type": "aggregate", "aggregate_name": "mean", "real_time": 9, "time_unit": "s"},
 {"name": "B_median", "run_name": "B", "run_type": "aggregate", "aggregate_name": "median", "real_time": 8, "time_unit": "s"}]}
EOF
rocm-perf history add --commit '' --at 2026-11-20T10:00:00Z median.json
# Commands of one name are told apart by their parameters.
echo '{"results": [{"command": "app", "times": [0.1, 0.1], "parameters": {"n": "1"}}, {"command": "app", "times": [0.2], "parameters": {"n": "2"}}]}' >named.json
rocm-perf history add --program named --commit '' --at 2026-11-20T10:00:00Z named.json
rocm-perf history show
# What has no time is refused, and so is what is of none of them.
echo '{"context": {}, "benchmarks": []}' >empty.json
echo '{"context": {}, "benchmarks": [{"name": "B", "real_time": -1, "time_unit": "ns"}, {"name": "B", "real_time": 1, "time_unit": "h"}, 7]}' >bad.json
echo '{"meta": {}, "devices": [], "benchmarks": [{"name": "B", "states": [{"summaries": [{"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "value": "x"}]}]}]}]}' >worse.json
echo '{"results": [{"command": "x", "times": []}]}' >none.json
echo '{"results": [{"command": "x"}]}' >other.json
for name in empty bad worse none other; do
    rocm-perf history add --program p $name.json
    echo "exit $?"
done
# A change is found as in other series.
for day in 01 02 03 04 05 06 07 08; do
    time=0.31$((10#$day * 7 % 5))
    [ "$day" -lt 07 ] || time=0.5$day
    sed "s/\[0.3, 0.31, 0.32\]/[$time, $time]/" "$data/hyperfine.json" >r.json
    rocm-perf history add --db days.db --commit "c$day" --at "2026-11-${day}T00:00:00Z" r.json >/dev/null
done
rocm-perf history check --db days.db
