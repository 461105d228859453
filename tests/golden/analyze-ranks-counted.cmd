# Which processes are of the run whose calls and times are shown, where counters differ or are missing.
python3 - <<'PY'
import os
KERNEL = "Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp,VGPR_Count,Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,Grid_Size_Y,Grid_Size_Z\n"
COUNTER = "Dispatch_Id,Agent_Id,Process_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
def write(prefix, pid, kernel, start, end, counters=()):
    os.makedirs(os.path.dirname(prefix), exist_ok=True)
    with open(f"{prefix}_kernel_trace.csv", "w") as out:
        out.write(f"{KERNEL}KERNEL_DISPATCH,Agent 1,1,0,{pid},1,1,{kernel},1,{start},{end},8,64,1,1,64,1,1\n")
    if counters:
        with open(f"{prefix}_counter_collection.csv", "w") as out:
            out.write(COUNTER)
            for name in counters: out.write(f"1,Agent 1,{pid},{kernel},{name},5,{start},{end}\n")
T = 10**9
write("order/1", 1, "k", T, T + 1001, ("SQ_WAVES", "SQ_BUSY_CYCLES"))
write("order/2", 2, "k", T, T + 1002, ("SQ_BUSY_CYCLES", "SQ_WAVES"))
for name, gemm, other in (("after", 1, 2), ("before", 2, 1)): # in the order of files
    write(f"{name}/{gemm}", gemm, "gemm", T, T + 90000, ("SQ_WAVES",))
    write(f"{name}/{other}", other, "other", T + 10, T + 1000)
# The third ran with the second, which ran with the one that was counted: one run is refused as
# any is whose files do not say so, and the third is not shown for all of it.
write("chain/1", 1, "gemm", T, T + 90000, ("SQ_WAVES",))
write("chain/2", 2, "other", T + 80000, T + 99000)
write("chain/3", 3, "third", T + 95000, T + 99500)
for i, counter in ((1, "SQ_WAVES"), (2, "SQ_BUSY_CYCLES")): # each pass with such a rank
    write(f"passes/{i}0", 10 * i, "gemm", i * T, i * T + 90000, (counter,))
    write(f"passes/{i}1", 10 * i + 1, "other", i * T + 10, i * T + 1000)
# A run without counters before the passes: it is the run, and nothing of theirs is added to it.
write("plain/90", 90, "gemm", 9 * T, 9 * T + 70000)
write("plain/91", 91, "other", 9 * T + 10, 9 * T + 700)
for i in 1, 2: write(f"plain/{i}0", 10 * i, "gemm", i * T, i * T + 90000, (("SQ_WAVES", "SQ_BUSY_CYCLES")[i - 1],))
write("plain/11", 11, "other", T + 10, T + 1000)
# Of a result folder, whose modelled times begin anew in each pass: no pass is a rank of the run, or of another pass.
write("result/trace", 1, "k", T, T + 800)
for i, counter in ((1, "SQ_WAVES"), (2, "SQ_BUSY_CYCLES")): write(f"result/counters/pass-{i}", 1 + i, "k", T, T + 900 + i, (counter,))
PY
for case in order after before chain passes plain result; do
    rocm-perf analyze -v $case >shown
    echo "$case: exit $? $(grep '^End to end  ' shown)"
    rocm-perf report --format csv -o - $case 2>/dev/null | python3 -c '
import csv, sys
for r in csv.DictReader(sys.stdin): print(*(r[c] for c in ("kernel", "calls", "time_ns", "vgprs", "workgroup_size")))'
done
true
