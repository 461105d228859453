rocm-perf report --help
