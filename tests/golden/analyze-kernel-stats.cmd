# Statistics of kernels: a table where they are alone, compared where the trace is beside them.
cases=$SOURCE/tests/data/cases/kernel_stats
cp "$cases/7_kernel_stats.csv" . && cp "$cases/rocprof.stats.csv" results.stats.csv
rocm-perf analyze -v 7_kernel_stats.csv
gzip -c results.stats.csv >packed.stats.csv.gz && rocm-perf analyze -v packed.stats.csv.gz --top 1
rocm-perf report --format csv -o - 7_kernel_stats.csv
rocm-perf analyze --analysis 7_kernel_stats.csv >analysis.json
python3 -c "
import json
a = json.load(open('analysis.json'))
print(a['basis'], a['basis_ns'], [(k['name'], k['calls'], k['time_ns'], k['statistics']) for k in a['kernels']])"
for what in --json --roofline --thread-trace; do rocm-perf analyze $what 7_kernel_stats.csv; echo "exit $?"; done
rocm-perf compare 7_kernel_stats.csv 7_kernel_stats.csv; echo "exit $?"
echo "two of them"
rocm-perf analyze -v . ; echo "exit $?"
echo "beside the trace"
mkdir -p run/host && cp "$SOURCE/tests/data/cases/join/t/1_kernel_trace.csv" run/host
python3 - <<'PY'
import csv
rows = list(csv.DictReader(open("run/host/1_kernel_trace.csv")))
with open("run/host/1_kernel_stats.csv", "w") as out:
    out.write("Name,Calls,TotalDurationNs\n")
    for name in dict.fromkeys(r["Kernel_Name"] for r in rows):
        of = [int(r["End_Timestamp"]) - int(r["Start_Timestamp"]) for r in rows if r["Kernel_Name"] == name]
        out.write('"%s",%d,%d\n' % (name, len(of), sum(of)))
PY
rocm-perf analyze -v run | grep -e '^Kernel statistics' -e '^End to end  '
sed -i 's/,[0-9]*$/,1/' run/host/1_kernel_stats.csv && rocm-perf analyze -v run | grep -e '^Kernel statistics' -e '^End to end  '
mv run/host/1_kernel_stats.csv run/host/2_kernel_stats.csv && rocm-perf analyze -v run | grep -e '^Kernel statistics' -e '^End to end  '
echo "damaged"
for row in 'k,0,5' 'k,-1,5' 'k,1,x' 'k,1,9223372036854775808' 'k,1' 'k,1,5,3,2' ''; do
    { echo Name,Calls,TotalDurationNs$( [ "$row" = k,1,5,3,2 ] && echo ,MinNs,MaxNs); echo "$row"; } >bad_kernel_stats.csv
    rocm-perf analyze -v bad_kernel_stats.csv; echo "exit $?"
done
echo Name,Calls >bad_kernel_stats.csv; rocm-perf analyze -v bad_kernel_stats.csv; echo "exit $?"
cp 7_kernel_stats.csv x_hip_api_stats.csv; rocm-perf analyze -v x_hip_api_stats.csv; echo "exit $?"
