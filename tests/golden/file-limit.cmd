# exit 0
# A limit on the size of files is named, ends no command silently, and leaves nothing half.
trace=$SOURCE/tests/data/rocpd/vadd-kernel_results.db
limited() { (ulimit -f 1; rocm-perf "$@" >out); echo "exit $?"; }
limited analyze --json "$trace"
limited analyze -o made "$trace" 2>&1 | sed "s/pending\.[0-9]*/pending.PID/"
limited report -o page.html "$trace"
limited history add --db h.db --commit c --program p "$trace"
# A history that is there, which a COMMIT would make larger than that: it stays as it is.
cp "$SOURCE/tests/data/edition1/history.db" full.db
chmod 600 full.db
(ulimit -f $(($(stat -c %s full.db) / 1024)); rocm-perf history add --db full.db "$SOURCE/tests/data/edition1/profile-many")
echo "exit $?"
cmp full.db "$SOURCE/tests/data/edition1/history.db"
ls full.db*
limited profile --no-rocprof --runs 1 -o wall sh -c 'head -c 100000 /dev/zero >big'
(ulimit -f 1; rocm-perf run sh -c 'head -c 100000 /dev/zero >big; echo "the program saw $(kill -l $?)"')
ls -A made
[ ! -e page.html ] || echo 'half a page'
