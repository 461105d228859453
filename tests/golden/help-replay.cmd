rocm-perf replay --help
