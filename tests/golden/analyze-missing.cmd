# exit 3
rocm-perf analyze none.db
