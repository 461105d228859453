# exit 0
for case in wr64 notime counters_pass_lost counters_above_peak; do
    rocm-perf analyze -v --arch gfx942 "$SOURCE/tests/data/cases/$case"
done
rocm-perf analyze --roofline --arch gfx942 "$SOURCE/tests/data/cases/wr64"
rocm-perf analyze --roofline "$SOURCE/tests/data/cases/notime"
rocm-perf report --format csv --arch gfx942 -o lost.csv "$SOURCE/tests/data/cases/counters_pass_lost" >/dev/null
cat lost.csv
# Names are whatever the file says: a formula, an escape, commas; two GPUs are added up in CSV.
printf 'Dispatch_Id,Agent_Id,Kernel_Name,Counter_Name,Counter_Value\n1,Agent 1,"k(a,b)","=X,\033Y",3\n2,Agent 2,"k(a,b)","=X,\033Y",4\n' >odd_counter_collection.csv
rocm-perf analyze -v odd_counter_collection.csv | tail -n 10
rocm-perf report --format csv -o odd.csv odd_counter_collection.csv >/dev/null
cut -d , -f 1-2,48- odd.csv | cat -v
