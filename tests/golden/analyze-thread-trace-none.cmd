rocm-perf analyze --thread-trace "$SOURCE/tests/data/counters/vcopy_MI350"
# exit 2
