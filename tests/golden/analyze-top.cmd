rocm-perf analyze --top 2 "$SOURCE/tests/data/rocpd/multik-pmc-synthetic_results.db" | sed -n '/^% /,$p'
rocm-perf analyze --top 0 "$SOURCE/tests/data/rocpd/multik-pmc-synthetic_results.db"
rocm-perf analyze --top 2 --roofline "$SOURCE/tests/data/rocpd/multik-pmc-synthetic_results.db"
# exit 2
