# exit 3
# A roofline that is refused leaves the files of the result before as they are, and none of its own.
trace=$SOURCE/tests/data/rocpd/multik-pmc-synthetic_results.db
rocm-perf analyze -o out "$SOURCE/tests/data/rocpd/vadd-kernel_results.db" >/dev/null
mkdir mi200
cp "$SOURCE/tests/data/counters/vcopy_MI200/sysinfo.csv" mi200/
printf 'device,HBMBw,L2Bw,LDSBw,FP32Flops\n0,1388,5018,17717,20941\n' >mi200/roofline.csv
before=$(cat out/* | sha256sum)
rocm-perf analyze -o out --ceilings mi200/roofline.csv "$trace"
status=$?
ls -A out
[ "$(cat out/* | sha256sum)" = "$before" ] && echo 'as before'
rocm-perf analyze -o new --ceilings mi200/roofline.csv "$trace" 2>/dev/null
ls -A
rocm-perf analyze -o out "$trace" >/dev/null
ls -A out
exit $status
