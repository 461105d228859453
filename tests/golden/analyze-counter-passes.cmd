# exit 0
data="$SOURCE/tests/data/passes"
table() { # PATH ...: numbers alone
    rocm-perf analyze -v --arch gfx942 "$@" | sed -n -e '/^ *us /,/^ *\[all/p' -e '/^Counters/,$p' | grep -v '^Next'
}
echo "passes of ranks: a folder"
table "$data/ranks"
echo "its files, those of the passes, folders of ranks, and ranks on GPUs of their own are the same"
table "$data/ranks" >one
table "$data"/ranks/pmc_*/host/*.csv | diff one -
for case in contradicting trace_above; do
    table "$data/$case" >named && table "$data/$case"/pmc_1 "$data/$case"/pmc_2/ | diff named - | grep SQ_
done
table "$data"/ranks/pmc_1 "$data"/ranks/pmc_2 "$data"/ranks/pmc_3 | diff one -
for rank in 0 1 2 3; do
    for pass in 1 2 3; do
        mkdir -p by_rank/rank_$rank/pmc_$pass
        cp "$data/ranks/pmc_$pass/host/${pass}0${rank}_counter_collection.csv" by_rank/rank_$rank/pmc_$pass
    done
done
table by_rank | diff one -
cp -r "$data/ranks" gpus && chmod -R u+w gpus
for rank in 0 1 2 3; do sed -i "s/\"Agent 4\"/\"Agent $((4 + rank))\"/" gpus/pmc_*/host/?0${rank}_*; done
rocm-perf analyze --roofline --arch gfx942 gpus | python3 -c '
import json, sys
for k in json.load(sys.stdin)["kernels"]:
    print(k["calls"], k["time_ns"], k["hbm_read_bytes"], k["hbm_write_bytes"])'
echo "one pass after the other, the kernel trace of each process beside its counters"
for pass in 1 2 3; do
    for rank in 0 1 2 3; do
        printf 'Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp\nKERNEL_DISPATCH,Agent 4,1,0,7,1,1,k,1,%d00000%d,%d000500\n' $pass $rank $pass \
            >gpus/${pass}0${rank}_kernel_trace.csv
        cp "$data/ranks/pmc_$pass/host/${pass}0${rank}_counter_collection.csv" gpus
    done
done
rm -r gpus/pmc_* && rocm-perf analyze --arch gfx942 --roofline gpus 2>&1 | grep -o -m 2 -e '"calls": [0-9]*' -e '"time_ns": [0-9.]*'
echo "passes of other work"
table "$data/contradicting"
rocm-perf analyze -v --arch gfx942 "$data/contradicting" | grep -A 1 -e 'SQ_WAVES of k' -e 'waves counted'
echo "only one of three dispatches is in both"
mkdir -p partly/pmc_1 partly/pmc_2
long='Dispatch_Id,Agent_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp'
for i in 1 2 3; do
    printf '%d,Agent 4,k,SQ_WAVES,100,%d000,%d500\n%d,Agent 4,k,SQ_WAVE_CYCLES,5000,%d000,%d500\n' $i $i $i $i $i $i
done | sed "1i$long" >partly/pmc_1/1_counter_collection.csv
printf '%s\n1,Agent 4,k,SQ_WAVES,100000,9000,9500\n' "$long" >partly/pmc_2/2_counter_collection.csv
table partly
echo "one of two kernels of a name is missing in a pass"
table "$data/registers"
table "$data/registers" >one
table "$data"/registers/*/*.csv | diff one -
echo "a trace above the passes"
rocm-perf analyze -v --arch gfx942 "$data/trace_above" 2>&1 | grep -e '^Kernels' -e 'passes that'
table "$data/trace_above"
echo "counters above a pass, and above what is none"
mkdir above && cp -r "$data/trace_above/pmc_2" above && cp "$data/trace_above/pmc_1/host/21_counter_collection.csv" above
table above
mv above/pmc_2 above/later && table above | grep -c SQ_
cp "$data/../cases/wr64/pmc_perf.csv" above && rm above/21* && mv above/later above/pmc_2 && table above | grep -c SQ_
echo "databases of two passes of two ranks, and of a process that has CSV files, too"
python3 - "$SOURCE/tests/data/rocpd/multik-pmc-synthetic_results.db" <<'PY'
import sqlite3, sys
source = sqlite3.connect(sys.argv[1])
guid, pid = source.execute("SELECT guid, pid FROM rocpd_info_process").fetchone()
dump = "\n".join(source.iterdump())
for rank in range(2):
    for number in range(2):
        name = f"0000000{number}-0000-7000-8000-00000000000{rank}"
        copy = sqlite3.connect(f"pass{number}_rank{rank}.db")
        copy.executescript(dump.replace(guid, name).replace(guid.replace("-", "_"), name.replace("-", "_")))
        end = name.replace("-", "_")
        copy.execute(f'UPDATE "rocpd_info_process_{end}" SET pid = pid + {2 * number + rank}')
        if number:
            copy.execute(f"UPDATE \"rocpd_info_pmc_{end}\" SET name = name || '_2'")
        copy.commit()
PY
rocm-perf analyze -v pass?_rank?.db | sed -n '/^Counters/,/^  k_dynlds/p'
echo "databases of two passes that counted the same, by their folders"
mkdir -p same/pmc_1 same/pmc_2 && cp pass0_rank0.db same/pmc_1 && cp pass0_rank1.db same/pmc_2
rocm-perf analyze -v same 2>/dev/null | sed -n '/^Counters/,/^  k_dynlds/p' | grep -e dispatches -e SQ_WAVES
rocm-perf analyze -v same/pmc_1 same/pmc_2 2>/dev/null | sed -n '/^Counters/,/^  k_dynlds/p' | grep -e dispatches -e SQ_WAVES
mkdir both && cp "$SOURCE/tests/data/rocpd/multik-pmc-synthetic_results.db" both/1_results.db
cp "$data/trace_above/pmc_1/host/21_counter_collection.csv" both/1_counter_collection.csv
rocm-perf analyze -v both | grep -c '^  k$'
ranking() { # PATH ...: calls, time and share of the first two kernels
    rocm-perf report --format csv -o - "$@" | python3 -c '
import csv, sys
for r in list(csv.DictReader(sys.stdin))[:2]: print(r["kernel"][:8], r["calls"], r["time_ns"], r["weight"])'
}
echo "a trace of kernels in each pass: calls and times are those of the first one"
ranking pass0_rank?.db
ranking pass?_rank?.db
python3 - <<'PY'
import os
KERNEL = "Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp\n"
COUNTER = "Dispatch_Id,Agent_Id,Process_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
CALL = "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
def write(folder, counters, ns, count, idle):
    os.makedirs(folder, exist_ok=True)
    number = int(folder[-1])
    pid, at = 100 + number, 10**9 * number
    with open(f"{folder}/{pid}_kernel_trace.csv", "w") as trace, open(f"{folder}/{pid}_counter_collection.csv", "w") as counts:
        trace.write(KERNEL), counts.write(COUNTER)
        for i in range(1, count + 1):
            kernel, at = "ab"[i % 2], at + 10000 * ns
            end = at + 1000 * (ns if kernel == "a" else 1)
            trace.write(f"KERNEL_DISPATCH,Agent 4,1,0,7,{i},1,{kernel},{i},{at},{end}\n")
            for c in counters: counts.write(f"{i},Agent 4,{pid},{kernel},{c},64,{at},{end}\n")
    if idle: # a process without kernels, as the launcher of ranks is one
        with open(f"{folder}/{pid}9_hip_api_trace.csv", "w") as calls: calls.write(f"{CALL}HIP_API,hipInit,{pid}9,9,1,{at - 9},{at}\n")
for name, second, ns, count, idle in (("slow", ["SQ_INSTS_VALU"], 10, 6, False), ("fewer", ["SQ_INSTS_VALU"], 1, 5, False),
                                      ("again", ["SQ_WAVES"], 1, 6, False), ("idle", ["SQ_INSTS_VALU"], 1, 6, True)):
    write(f"{name}/pmc_1", ["SQ_WAVES"], 1, 6, idle)
    write(f"{name}/pmc_2", second, ns, count, idle)
PY
for case in slow fewer again idle; do echo "$case" && ranking $case; done
rocm-perf analyze -v --arch gfx942 slow | sed -n -e 2p -e '/^Kernels by/,/^  b/p'
rocm-perf report --format openmetrics -o - slow | grep -e '^rocm_perf_kernel.*calls' -e 'kernel.*seconds'
rocm-perf analyze --json idle | python3 -c '
import json, sys
print(len(json.load(sys.stdin)["processes"]), "processes")'
true
