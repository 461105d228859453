# Different commands one after the other: said, unless one parent or one time tells otherwise.
data=$SOURCE/tests/data/rocpd
rocm-perf analyze -v "$data/streams-hip_results.db" "$data/vadd-kernel_results.db" | grep '^End to end  '
rocm-perf analyze "$data/multik-pmc-synthetic_results.db" "$data/vadd-kernel_results.db" --roofline >/dev/null
alter() {
    cp "$data/vadd-kernel_results.db" "$1.db" && chmod u+w "$1.db"
    python3 - "$1.db" "$data/streams-hip_results.db" "$2" <<'PY'
import sqlite3, sys
def table(db):
    return db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_info_process%'").fetchone()[0]
mine, other = sqlite3.connect(sys.argv[1]), sqlite3.connect("file:%s?mode=ro&immutable=1" % sys.argv[2], uri=True)
columns = sys.argv[3].split(",")
values = other.execute(f'SELECT {sys.argv[3]} FROM "{table(other)}"').fetchone()
mine.execute(f'UPDATE "{table(mine)}" SET ' + ", ".join(f'"{c}" = ?' for c in columns), values)
mine.commit()
PY
}
for what in ppid command start,end; do
    alter "same-$what" "$what"
    echo "same $what"
    rocm-perf analyze -v "$data/streams-hip_results.db" "same-$what.db" | grep '^End to end  '
done
