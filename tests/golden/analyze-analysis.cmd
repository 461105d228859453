python3 "$SOURCE/tests/att/gen_att.py" made 5
rocm-perf analyze --analysis --arch gfx942 made
rocm-perf analyze --analysis --top 1 "$SOURCE/tests/data/rocpd/multik-pmc-synthetic_results.db" |
    sed -n 's/.*"\(label\|name\)": "\([^"]*\)".*/\1 \2/p; s/.*"kernel_count".*/&/p'
rocm-perf analyze --analysis --json made
# exit 2
