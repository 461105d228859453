rocm-perf --version
