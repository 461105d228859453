# exit 2
rocm-perf doctor now
