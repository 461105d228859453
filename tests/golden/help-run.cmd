rocm-perf run --help
