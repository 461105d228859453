rocm-perf profile --help
