# exit 2
# The exit status is the verdict; what is no gate is refused before anything is read.
cd "$SOURCE/tests/data/compare"
try() { rocm-perf compare "$@" >/dev/null; echo "exit $?"; }
try before.json after.json --gate 'kernel:reduce:runtime<=0.95'
try before.json after.json --gate 'kernel:gemm:runtime<=1.02'
try before.json drift.json --gate 'runtime<=1.02'
try before.json after.json --gate 'kernel:gone:runtime<=1.02' --margin 2
try before.json after.json --gate 'kernel:redcue:runtime<=1.02' --gate 'kernel:gemm<double>:vgprs<=64'
rocm-perf compare before.json after.json --gate 'kernel:gem:runtime<=1.02' 2>&1 | grep near
rocm-perf compare --markdown before.json after.json --gate 'kernel:gem:runtime<=1.02' 2>&1 | grep near
rocm-perf compare --json before.json after.json --gate 'kernel:gem:runtime<=1.02' 2>/dev/null | grep -c '"near": "gemm"'
try replay.json --gate 'runtime<=1.06'
try replay.json --gate 'runtime<=1.01'
try few.json few.json --gate 'runtime<=1.02'
try missing.json missing.json --gate 'runtime=<1'
try missing.json missing.json --gate 'speed<=1'
try missing.json missing.json --gate 'vgprs<=2*after'
try missing.json missing.json --gate 'kernel:a'
try missing.json missing.json --gate
try missing.json missing.json --margin 101
try missing.json missing.json --json --github
try
rocm-perf compare --magic
