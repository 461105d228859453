rocm-perf analyze -v --help
