# exit 2
rocm-perf frobnicate
rocm-perf anaylze
