rocm-perf analyze "$SOURCE/tests/data/rocpd/streams-hip_results.db"
