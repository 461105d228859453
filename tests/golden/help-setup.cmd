rocm-perf setup --help
