rocm-perf history --help
