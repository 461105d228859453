rocm-perf analyze -v "$SOURCE/tests/data/rocpd/roctx-marker_results.db"
