# Each error says what to mend.
try() { rocm-perf report "$@"; echo "exit $?"; }
try
try -o ''  x.db
try --frame x.db
try -o
try --arch gfx1 x.db
try x.db
mkdir empty
try empty
try -o no/such/report.html "$SOURCE/tests/data/rocpd/vadd-kernel_results.db"
try --format pdf x.db
try -o a.svg x.db
