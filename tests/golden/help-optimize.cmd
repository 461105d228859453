rocm-perf optimize --help
