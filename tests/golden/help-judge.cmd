rocm-perf judge --help
