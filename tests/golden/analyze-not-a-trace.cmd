# exit 3
rocm-perf analyze /bin/true
