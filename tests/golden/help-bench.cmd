rocm-perf bench --help
