# What other tools leave is read, or refused by what it is.
cd "$SOURCE/tests/data/cases"
for what in omniperf1 rocprof1 rocprof1/results.csv; do rocm-perf analyze $what | head -n 8; done
for what in rocprofv2 rocprofv2/hip_api_trace_11.csv rocprofv2_ui kineto.json pytorch_trace.json; do rocm-perf analyze $what; echo "exit $?"; done
cd "$OLDPWD"
gzip -c "$SOURCE/tests/data/cases/kineto.json" >run.pt.trace.json.gz && rocm-perf analyze . ; echo "exit $?"
echo '{ "traceEvents":[{}, {"ph":"M","pid":2,"name":"process_name"}]}' >results.json && rocm-perf analyze results.json; echo "exit $?"
