# Counters that are given twice would be added up.
data="$SOURCE/tests/data/passes/contradicting"
mkdir run copy packed
cp "$data/pmc_2/1_counter_collection.csv" run
try() {
    rocm-perf analyze -v "$@" >table; echo "exit $?" && grep "SQ_" table
}
try run
try run/1_counter_collection.csv run/1_counter_collection.csv
try run run
try run ./run/1_counter_collection.csv
cp run/1_counter_collection.csv copy/2_counter_collection.csv && gzip -c run/*.csv >packed/1_counter_collection.csv.gz
try run copy
try run/1_counter_collection.csv packed/1_counter_collection.csv.gz
cp copy/* run && try run
printf 'Dispatch_ID,Kernel_Name,SQ_WAVES,Start_Timestamp,End_Timestamp\n0,k,5,1248227793203453.2,1248227793220373.0\n' >real_pmc_perf.csv
cp real_pmc_perf.csv copy_pmc_perf.csv && try real_pmc_perf.csv copy_pmc_perf.csv
echo "without times: by the file alone"
printf 'Dispatch_ID,Kernel_Name,SQ_WAVES\n0,k,5\n' >untimed_pmc_perf.csv
ln untimed_pmc_perf.csv linked_pmc_perf.csv
try untimed_pmc_perf.csv linked_pmc_perf.csv
echo "traces say their times twice"
cp "$SOURCE/tests/data/passes/trace_above/1_kernel_trace.csv" .
try 1_kernel_trace.csv copy 1_kernel_trace.csv
echo "another process at the same times is another one"
sed 's/1,6,6,/1,7,7,/' copy/2_counter_collection.csv >copy/3_counter_collection.csv
try copy
echo "columns"
printf 'Dispatch_ID,Kernel_Name,SQ_WAVES,SQ_WAVES,SQ_WAVE_CYCLES\n0,k,100,100,5000\n' >twice_pmc_perf.csv
try twice_pmc_perf.csv
printf 'Dispatch_ID,Kernel_Name,TCC_REQ[0],TCC_REQ[1],TCC_REQ\n0,k,1,2,3\n' >beside_pmc_perf.csv
try beside_pmc_perf.csv
true
echo "rows"
rows() { # FILE, with lines of: counter, value, start
    echo 'Dispatch_Id,Agent_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp' >"$1"
    while read -r name value start; do echo "1,Agent 1,k,$name,$value,$start,$((start + 100))" >>"$1"; done
    try --arch gfx942 "$1"
}
mkdir rows
rows rows/1_counter_collection.csv <<<$'SQ_WAVES 64 1000\nSQ_BUSY_CYCLES 9 1000\nSQ_WAVES 64 1000'
rows rows/1_counter_collection.csv <<<$'TCC_HIT[0] 64 1000\nTCC_HIT 9 1000'
rows rows/pmc_perf.csv <<<$'SQ_WAVES 64 1000\nSQ_WAVES 64 1000'
rows rows/pmc_perf.csv <<<$'SQ_WAVES 64 1000\nSQ_WAVES 7 5000'
printf 'Dispatch_ID,Kernel_Name,SQ_WAVES,Start_Timestamp,End_Timestamp\n0,k,5,1000,2000\n0,k,5,3000,4000\n' >rows/pmc_perf.csv && try rows/pmc_perf.csv
true
