mkdir -p run/pass_1
cp "$SOURCE/tests/data/rocpd/streams-hip_results.db" run/
cp "$SOURCE/tests/data/rocpd/multik-pmc-synthetic_results.db" run/pass_1/
sqlite=$(command -v python3)
"$sqlite" -c 'import sqlite3; sqlite3.connect("run/other.db").execute("CREATE TABLE compute_metrics (a)")'
rocm-perf analyze run | grep -e '^End to end  ' -e '^Kernels  ' -e warning -e rocm-perf:
