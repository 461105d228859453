rocm-perf analyze "$SOURCE/tests/data/rocpd/vadd-kernel_results.db"
