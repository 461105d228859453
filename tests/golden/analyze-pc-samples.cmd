# PC samples of rocprofv3: CSV with and without a kernel trace, JSON, rocpd; the same samples give the same numbers.
python3 "$SOURCE/tests/data/cases/pc_samples/make.py"
rocm-perf analyze 7_pc_sampling_host_trap.csv
echo "only the samples"
mkdir only && cp 7_pc_sampling_stochastic.csv only && rocm-perf analyze -v only
rocm-perf analyze --json only; echo "exit $?"
echo "JSON, JSON packed, rocpd and CSV say the same"
for from in json/7_results.json packed/7_results.json db/7_results.db 7_kernel_trace.csv; do
  rocm-perf analyze --thread-trace $from >numbers.json && python3 "$SOURCE/tests/data/cases/pc_samples/numbers.py" numbers.json
done
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/thread_trace.schema.json" numbers.json
rocm-perf report -o page.html 7_kernel_trace.csv && rocm-perf analyze -o result 7_kernel_trace.csv >/dev/null && ls result
echo "the form that holds most"
mkdir all && cp 7_*.csv json/7_results.json all && rocm-perf analyze all | grep -e '^PC samples' -e 'left out'
echo "damaged"
for file in mask column issued truncated; do rocm-perf analyze bad/${file}_pc_sampling_stochastic.csv; echo "exit $?"; done
for file in index text issued; do rocm-perf analyze bad/${file}_results.json; echo "exit $?"; done
for file in column sum; do rocm-perf analyze bad/$file.db; echo "exit $?"; done
echo "hostile"
rocm-perf analyze bad/hostile_pc_sampling_host_trap.csv | cat -v; echo "exit $?"
rocm-perf analyze bad/reason_pc_sampling_stochastic.csv
