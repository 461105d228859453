rocm-perf isolate --help
