# What other tools leave is read, or refused by what it is.
cd "$SOURCE/tests/data/cases"
for what in omniperf1 rocprof1 rocprof1/results.csv; do rocm-perf analyze -v $what | sed -n '/^Kernel/,$p' | head -n 8; done
for what in rocprofv2 rocprofv2/hip_api_trace_11.csv rocprofv2_ui; do rocm-perf analyze -v $what; echo "exit $?"; done
cd "$OLDPWD"
# Results of rocprof -o NAME.csv: by their names alone, or beside results.csv.
mkdir named && sed 's/Wavefronts,VALUBusy/"LDSBankConflict",LDSInsts/; s/^Index,/"Index",/' "$SOURCE/tests/data/cases/rocprof1/results.csv" >named/conflicts.csv
rocm-perf analyze -v named; echo "exit $?"
rocm-perf analyze -v named/conflicts.csv | grep LDS
cp "$SOURCE/tests/data/cases/rocprof1/results.csv" named && rocm-perf analyze -v named | grep -E '^ +(LDS|Wave|2 d)'
rocm-perf analyze -v named/*.csv | grep -E '^ +(LDS|Wave|2 d)'
gzip named/results.csv && rocm-perf analyze -v named 2>/dev/null | grep -E '^ +(LDS|Wave|2 d)'
rm -r named
echo '{ "traceEvents":[{}, {"ph":"M","pid":2,"name":"process_name"}]}' >results.json && rocm-perf analyze -v results.json; echo "exit $?"
