# Files of two runs in one folder are never added silently: ranks ran at the same time.
trace() { # FOLDER PID START
    mkdir -p "$1"
    python3 - "$1/$2_kernel_trace.csv" "$3" <<'PY'
import sys
start = int(sys.argv[2])
with open(sys.argv[1], "w") as out:
    out.write("Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp\n")
    for i in range(2):
        out.write("KERNEL_DISPATCH,Agent 1,1,0,7,%d,1,k,%d,%d,%d\n" % (i + 1, i + 1, start + i * 200000, start + i * 200000 + 100000))
PY
}
counters() { # FOLDER PID START NAME
    mkdir -p "$1"
    printf 'Dispatch_Id,Agent_Id,Process_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n1,Agent 1,%d,k,%s,64,%d,%d\n' \
        "$2" "$4" "$3" $(($3 + 100000)) >"$1/$2_counter_collection.csv"
}
trace ranks 123 1000000; trace ranks 456 1050000
rocm-perf analyze -v ranks | grep -e '^End to end  ' -e '^Kernels  ' -e warning -e rocm-perf:
trace runs 123 1000000; trace runs 456 9000000
rocm-perf analyze -v runs; echo "exit $?"
rocm-perf report -o x.html runs; echo "exit $?"
trace hosts/a 123 1000000; trace hosts/b 123 9000000000000
rocm-perf analyze -v hosts; echo "exit $?"
echo "passes of counters are one run"
for pass in 1 2; do
    trace passes/pass_$pass/host $((10 + pass)) ${pass}000000
    counters passes/pass_$pass/host $((10 + pass)) ${pass}000000 "$([ $pass = 1 ] && echo SQ_WAVES || echo SQ_INSTS_VALU)"
done
rocm-perf analyze -v passes | grep -v -e '^Note' -e '^  ' -e '^`' | head -n 4
echo "the same counters twice: ranks, runs"
counters same 1 1000000 SQ_WAVES; counters same 2 1050000 SQ_WAVES
rocm-perf analyze -v same >/dev/null
counters again 1 1000000 SQ_WAVES; counters again 2 9000000 SQ_WAVES
rocm-perf analyze -v again | grep -A 1 'dispatches$'
rocm-perf analyze --roofline again 2>/dev/null | grep -o '[0-9]* files* ha[sv]e* the counters of others'
