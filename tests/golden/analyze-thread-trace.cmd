python3 "$SOURCE/tests/att/gen_att.py" made 5 list_header columns14
rocm-perf analyze -v made
rocm-perf analyze --thread-trace made >/dev/null && rocm-perf analyze -o out made >/dev/null && ls out
