rocm-perf hipcc --help
