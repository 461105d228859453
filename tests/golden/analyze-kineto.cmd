# Traces of the PyTorch profiler: of a rank, packed, of a folder of ranks, of CUDA, and what is no such trace.
cp "$SOURCE/tests/data/kineto/step.pt.trace.json" . && rocm-perf analyze -v step.pt.trace.json
mkdir ranks && gzip -c step.pt.trace.json >ranks/rank1.json.gz && sed 's/"rank": 1,/"rank": 0,/; s/"pid": 77,/"pid": 78,/' step.pt.trace.json >ranks/rank0.json
rocm-perf analyze --json ranks | grep -E '"(pid|critical_path_ns)":'
rocm-perf report --format markdown -o - ranks | head -n 24
rocm-perf compare ranks/rank0.json ranks/rank1.json.gz | head -n 5
sed 's/AMD Instinct MI300X/NVIDIA H100/g; s/"warpSize": 64/"warpSize": 32/g; s/hip\([A-Z]\)/cuda\1/g' step.pt.trace.json >cuda.json && rocm-perf analyze cuda.json | head -n 9
rocm-perf analyze "$SOURCE/tests/data/cases/pytorch_trace.json" | grep -E '^(End|Kernels)'
sed 's/"cat": "[kg][a-z_]*"/"cat": "overhead"/' step.pt.trace.json >cpu.json && rocm-perf analyze cpu.json; echo "exit $?"
head -c 4000 step.pt.trace.json >cut.json && rocm-perf analyze cut.json; echo "exit $?"
echo '{"traceEvents": [{"ph": "X", "cat": "toplevel", "name": "browser", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}' >chrome.json && rocm-perf analyze chrome.json; echo "exit $?"
