# exit 2
# Ceilings that no GPU has.
trace=$SOURCE/tests/data/rocpd/vadd-kernel_results.db
for number in 0 -1 1e-300 1e30 nan inf 2100MHz ''; do
    rocm-perf analyze --clock-mhz "$number" "$trace"
    rocm-perf analyze --memory-bandwidth-gbps "$number" "$trace"
done
