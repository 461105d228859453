rocm-perf autotune --help
