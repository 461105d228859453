# exit 2
rocm-perf analyze
