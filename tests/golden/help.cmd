rocm-perf --help
