# What was right before other cases of their kind were fixed.
rocm-perf analyze -v --arch gfx942 "$SOURCE/tests/data/cases/base"
