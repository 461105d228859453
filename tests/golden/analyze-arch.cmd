# exit 2
# A GPU that is not known is refused before anything is read, whether there are counters or not.
trace=$SOURCE/tests/data/rocpd/vadd-kernel_results.db
rocm-perf analyze --arch gfx942 "$trace" >/dev/null && echo known
for arch in gfx906 gfx1030 gfx1201 gfx1250 gfx1103 '' gfx942:; do
    rocm-perf analyze --arch "$arch" "$trace" >/dev/null
    echo "$arch: $?"
done
# Real counters of a GPU whose ceilings are not known.
for arch in gfx1151 gfx1250; do
    rocm-perf analyze -v --arch $arch "$SOURCE/tests/data/counters/gfx1151" | grep -E '^Note|CUs'
done
rocm-perf analyze --arch gfx906 missing.db
