# The profiler began while the queues were full: kernels without calls come first, and a wait of 900 us for another stream shows by times alone.
x() { echo '{"ph":"X","cat":"'"$1"'","name":"'"$2"'","pid":'"$3"',"tid":'"$4"',"ts":'"$5"',"dur":'"$6"',"args":{"correlation":'"$7"'}},'; }
{ echo '{"schemaVersion":1,"traceEvents":['
x kernel early 0 0 1000 100 1; x kernel early 0 0 1101 1 2; x kernel early 0 0 1103 1 3; x kernel early 0 0 1105 1 4
x kernel ncclDevKernel_Generic 0 4 1110 890 5; x kernel waited 0 0 2018 82 6
x kernel called 0 0 2101 100 7; x cuda_runtime hipLaunchKernel 9 9 1010 5 7; x kernel called 0 0 2202 100 8; x cuda_runtime hipLaunchKernel 9 9 1020 5 8
x cuda_runtime hipDeviceSynchronize 9 9 1030 1280 9
echo '{}]}'; } >window.json
rocm-perf analyze window.json
rocm-perf analyze --json window.json | grep -E '"repairs"|"(derived|inferred|partial|recorded)": '
