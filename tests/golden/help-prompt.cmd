rocm-perf prompt --help
