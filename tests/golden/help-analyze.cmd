rocm-perf analyze --help
