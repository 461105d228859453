rocm-perf analyze "$SOURCE/tests/data/rocpd/roctx-marker_results.db"
