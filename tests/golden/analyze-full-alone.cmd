# exit 2
rocm-perf analyze --full "$SOURCE/tests/data/rocpd/streams-hip_results.db"
