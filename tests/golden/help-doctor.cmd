rocm-perf doctor --help
