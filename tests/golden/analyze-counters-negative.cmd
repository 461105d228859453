# exit 3
rocm-perf analyze -v --arch gfx942 "$SOURCE/tests/data/cases/counters_negative"
