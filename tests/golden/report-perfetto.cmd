# A Perfetto trace, read back by an independent decoder and held against the timeline of the page.
check() {
    rocm-perf report --title 'T <1>' -o a.pftrace "$1" && rocm-perf report -o a.html "$1" >/dev/null
    python3 "$SOURCE/tests/html/extract.py" a.html page >/dev/null
    python3 "$SOURCE/tests/report/perfetto.py" a.pftrace page/timeline.json || echo "exit $?"
}
cp "$SOURCE/tests/data/rocpd/streams-hip_results.db" soft.db
check soft.db
python3 - <<'END'
import sqlite3
db = sqlite3.connect("soft.db")
tables = {n.rsplit("_0", 1)[0]: n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")}
meta = next(n for n in tables.values() if n.startswith("rocpd_metadata"))
symbols = next(n for n in tables.values() if n.startswith("rocpd_info_kernel_symbol"))
copies = next(n for n in tables.values() if n.startswith("rocpd_memory_copy"))
db.execute(f"INSERT INTO {meta}(tag, value) VALUES('rocm_perf_device', 'software')")
db.execute(f"UPDATE {symbols} SET display_name = x'6160ff3c' WHERE display_name LIKE 'producer%'")
# Copies that run at the same time: those of a stream would not.
db.execute(f'UPDATE {copies} SET "end" = "end" + 2000000, stream_id = 0 WHERE id < 5')
db.commit()
END
check soft.db
rocm-perf report --format perfetto "$SOURCE/tests/data/counters/vcopy_MI100"; echo "exit $?"
