# Clocks that are apart, ends that are late, times that overflow, durations of nothing: the path stays right, and
# nothing is printed with two signs, as minus nothing, or as a row of zeros.
cd "$SOURCE/tests/data/cases"
control() { rocm-perf analyze -v "$1" | grep -v -e '^clocks apart' -e '^[0-9]* time'; }
control gpu_clock_ok_csv
for case in gpu_clock_ahead_csv clock_boottime_csv; do
    diff <(control gpu_clock_ok_csv) <(control $case) && echo "$case: the same"
    rocm-perf analyze -v $case | grep '^clocks apart'
    rocm-perf analyze --json $case | grep -o '"moved_clocks": [0-9]*'
done
rocm-perf analyze -v overflow_csv
mkdir "$OLDPWD/k" && cp overflow_csv/r_kernel_trace.csv "$OLDPWD/k" && rocm-perf analyze -v "$OLDPWD/k" | tail -5
for case in overlap twoq zero_durations attdir/host; do
    echo "$case:"
    rocm-perf analyze -v $case
    rocm-perf analyze --json $case | grep -o '"kernel_time_ns": [0-9]*'
done
# All that is said of kernels is the sum of end less start of the rows, whatever form it has.
cd overlap
awk -F, 'NR > 1 { sum += $11 - $10 } END { print sum }' 1_kernel_trace.csv
rocm-perf report --format csv -o - . | awk -F, '/^[ab],/ { sum += $9 } END { print sum }'
rocm-perf report --format openmetrics -o - . | awk '/^rocm_perf_kernel_time_seconds/ { sum += $2 * 1e9 } END { print sum }'
rocm-perf report --format csv -o - ../zero_durations | grep -c -e '--[0-9]' -e '-0[.0]*,'
rocm-perf report --format markdown -o - ../zero_durations | grep -c -e '--[0-9]' -e '-0[.0]* '
true
