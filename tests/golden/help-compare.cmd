rocm-perf compare --help
