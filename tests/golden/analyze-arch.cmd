# exit 2
# A GPU that is not known is refused before anything is read, whether there are counters or not.
trace=$SOURCE/tests/data/rocpd/vadd-kernel_results.db
rocm-perf analyze --arch gfx942 "$trace" >/dev/null && echo known
for arch in gfx906 gfx1030 '' gfx942:; do
    rocm-perf analyze --arch "$arch" "$trace" >/dev/null
    echo "$arch: $?"
done
rocm-perf analyze --arch gfx906 missing.db
