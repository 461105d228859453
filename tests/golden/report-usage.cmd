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
try -o a.pdf x.db
try -o a.json x.db
try -o folder.d/a.txt --title a x.db
vadd=$SOURCE/tests/data/rocpd/vadd-kernel_results.db
try -o page "$vadd"
try -o .page "$vadd"
mkdir with.dot && try -o with.dot/page "$vadd"
try --format markdown -o a.txt "$vadd"
