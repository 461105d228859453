# exit 1
rocm-perf analyze --max-inferred 0.5 "$SOURCE/tests/data/rocpd/streams-hip_results.db" | grep '^End to end  '
rocm-perf analyze --max-inferred 5 --json "$SOURCE/tests/data/rocpd/vadd-kernel_results.db" | grep -o '"inferred": {[^}]*}'
rocm-perf analyze --max-inferred 101 x.db
rocm-perf analyze --max-inferred 5 "$SOURCE/tests/data/counters/vcopy_MI350"
rocm-perf analyze --max-inferred 5 "$SOURCE/tests/data/rocpd/vadd-kernel_results.db" >/dev/null
