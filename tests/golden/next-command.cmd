# The last line is a command that can be run as it stands: a limit that came too early is raised, and -v stays.
space=$SOURCE/tests/data/tune/made.json
cp "$space" 'a space.json'
again() { tail -n 1 "$1" | tee /dev/stderr | sed 's/^Next: //' >next.sh && bash next.sh; }
rocm-perf autotune --simulate 'a space.json' --budget-ev=12 -vo "it's" >first 2>/dev/null && cat first
again first 2>said >second; head -n 1 said; grep Search second
# Where the model is sure of itself nothing follows, and nothing behind a number or JSON.
rocm-perf autotune --simulate 'a space.json' 2>/dev/null | grep Next
rocm-perf autotune --simulate 'a space.json' --budget-evals 12 --quiet
rocm-perf autotune --simulate 'a space.json' -v --json
# Gates of a comparison name kernels as its rows do.
cd "$SOURCE/tests/data/compare"
for v in '' -v; do rocm-perf compare $v before.json after.json --gate 'kernel:gemm:runtime<=1.02' | grep '^gate'; done
