# exit 2
rocm-perf frobnicate
