# One kernel: its name in counters ends as rocprof-compute writes it, in traces in another way.
cd "$SOURCE/tests/data/cases"
rocm-perf analyze -v --arch gfx942 join/t join/c
for end in "" ".kd" " [clone .kd]" " (.kd)"; do
    mkdir -p "$OLDPWD/t"
    sed "s/k(float\*)/k(float*)$end/" join/t/1_kernel_trace.csv >"$OLDPWD/t/1_kernel_trace.csv"
    rocm-perf analyze -v --arch gfx942 "$OLDPWD/t" join/c | grep -c 'k(float\*)$'
done
