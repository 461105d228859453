rocm-perf analyze -v "$SOURCE/tests/data/rocpd/streams-hip_results.db" "$SOURCE/tests/data/rocpd/multik-pmc-synthetic_results.db" | grep -e '^End to end  ' -e '^Kernels  ' -e warning -e rocm-perf:
