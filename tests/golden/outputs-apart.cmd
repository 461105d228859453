# No output takes the place of what is read: by its name, through a link, or within a folder.
data=$SOURCE/tests/data
cp "$data/rocpd/vadd-kernel_results.db" "$data/compare/before.json" "$data/compare/after.json" .
mkdir trace && cp vadd-kernel_results.db trace/trace_results.db && cp before.json trace/profile.json
chmod -R u+w . && ln -s trace/trace_results.db link.html && ln before.json hard.xml
rocm-perf history add --commit '' --db h.db before.json >/dev/null 2>&1
cat vadd-kernel_results.db before.json after.json trace/* h.db | sha256sum >was
try() { rocm-perf "$@"; echo "exit $?"; }
try report --format html -o trace/trace_results.db trace
try report --format html -o trace/profile.json trace
try report -o link.html trace
try report --format html -o vadd-kernel_results.db vadd-kernel_results.db
cat >c.csv <<'CSV'
device,HBMBw,HBMBwLow,hbmBwHigh,L2Bw,L1Bw,LDSBw,FP32Flops,FP64Flops,MFMABF16Flops,MFMAF16Flops,MFMAF32Flops
0,1388.9302,1388.3835,1389.4768,5018.2891,N/A,17717.834,20941.971,30272.537,80483.16,164938.17,41438.68
CSV
try report -o c.csv --ceilings c.csv trace
cp vadd-kernel_results.db dag.json && try analyze -o . dag.json
try compare before.json after.json --junit after.json
try compare before.json after.json --junit hard.xml
try compare trace before.json --junit trace/profile.json
try history export --db h.db -o h.db
try history plot --db h.db -o ./h.db
try history check --db h.db -o h.db
try history plot --db h.db -o ./h.db-journal
try history add --db trace/trace_results.db --commit '' trace
try history add --db h.db -o before.json --commit '' before.json
cat vadd-kernel_results.db before.json after.json trace/* h.db | sha256sum | cmp - was && echo unchanged
# What a report has written beside them is written again.
for i in 1 2; do try report -o trace/report.html trace/trace_results.db; done
try report -o trace/report.html trace >/dev/null
try report --format csv -o trace/kernels.csv trace
try report --format csv -o trace/kernels.csv trace
