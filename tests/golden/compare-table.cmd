# exit 1
# Faster, slower, equal, drift, other registers and geometries, kernels of one side, gates of each end.
cd "$SOURCE/tests/data/compare"
rocm-perf compare before.json after.json drift.json --gate 'runtime<=1.06' --gate 'kernel:gemm:runtime<=1.02' \
    --gate 'kernel:reduce:runtime<1' --gate 'kernel:gemm:occupancy>=before' --gate 'cv<=0.05' --gate 'bytes<=before'
