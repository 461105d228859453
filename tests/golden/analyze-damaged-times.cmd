# Times that no clock shows, and traces of nothing: each is refused with its file and what to do, and nothing is
# computed with such times before that (the sanitizers' build sees sums that overflow). An end that is damaged is
# clipped where a call waited for it.
kernels() { # kernels FOLDER, with lines of: agent, queue, name, correlation id, start, end
    mkdir -p "$1"
    echo '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"' >"$1/1_kernel_trace.csv"
    n=0
    while read -r agent queue name id start end; do
        n=$((n + 1))
        echo "\"KERNEL_DISPATCH\",\"Agent $agent\",$queue,$queue,7,$n,$n,\"$name\",$id,$start,$end" >>"$1/1_kernel_trace.csv"
    done
}
calls() { # calls FOLDER, with lines of: name, start, end
    echo '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"' >"$1/1_hip_api_trace.csv"
    n=0
    while read -r name start end; do
        n=$((n + 1))
        echo "\"HIP_RUNTIME_API\",\"hip$name\",7,7,$n,$start,$end" >>"$1/1_hip_api_trace.csv"
    done
}
analyze() {
    echo "$1:"
    rocm-perf analyze -v "$@" | grep -e '^End to end  ' -e clipped
    rocm-perf compare "$1" "$1" >/dev/null || echo "compare: $?"
}
three=$(printf 'LaunchKernel %s\n' '100 110' '120 130' '140 150')
last=9223372036854775807

kernels far <<<"1 1 a 1 1 $last
1 1 b 2 2 ${last%7}6
2 2 c 3 3 ${last%7}5"
calls far <<<"LaunchKernel ${last%807}797 ${last%7}2
LaunchKernel ${last%7}3 ${last%7}4
DeviceSynchronize ${last%7}5 $last"
analyze far

kernels start <<<"2 2 a 1 ${last%7}3 1050
1 2 b 2 1100 1150
1 2 a 3 1200 8791"
calls start <<<"$three
DeviceSynchronize 500 20000"
analyze start

kernels call <<<"2 1 c 1 1000 1050
2 2 a 2 1100 1600
1 1 b 3 1300 1350"
calls call <<<"LaunchKernel 100 110
LaunchKernel 120 130
LaunchKernel ${last%7}6 170
DeviceSynchronize 500 4931"
analyze call

kernels end <<<"1 1 a 1 50 1100
1 1 a 2 1200 1300
1 2 a 3 1400 $last"
calls end <<<"$three
DeviceSynchronize 500 2000"
analyze end

kernels ends <<<"1 1 a 1 1000 1100
1 2 a 2 1400 $last"
analyze ends

kernels year/a <<<'1 1 a 1 1000 2000'
kernels year/b <<<'1 1 a 1 1700000000000000000 1700000000000001000'
rocm-perf analyze -v year/a year/b
cat year/a/1_kernel_trace.csv >one.csv && tail -1 year/b/1_kernel_trace.csv >>one.csv
mkdir one && mv one.csv one/1_kernel_trace.csv
rocm-perf analyze -v one

kernels nothing </dev/null
rocm-perf analyze -v nothing
kernels before <<<'1 1 a 1 -5 1000'
rocm-perf analyze -v before
rocm-perf analyze -v nothing before
true
