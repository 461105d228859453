# exit 3
mkdir nothing
rocm-perf analyze nothing
