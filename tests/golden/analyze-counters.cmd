rocm-perf analyze -v "$SOURCE/tests/data/counters/vcopy_MI350"
rocm-perf analyze -v "$SOURCE/tests/data/counters/no_roof_MI300X_A1"
rocm-perf analyze --roofline "$SOURCE/tests/data/rocpd/vadd-kernel_results.db"
