# Every text form, of a hardware trace and of one of the software device with a hostile name.
trace="$SOURCE/tests/data/rocpd/streams-hip_results.db"
cp "$trace" soft.db
python3 - <<'END'
import sqlite3
db = sqlite3.connect("soft.db")
tables = [t for (t,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
meta = next(t for t in tables if t.startswith("rocpd_metadata"))
for tag, value in (("rocm_perf_device", "software"), ("rocm_perf_timing", "fast"), ("rocm_perf_timing_version", "2")):
    db.execute(f"INSERT INTO {meta}(tag, value) VALUES(?, ?)", (tag, value))
for t in tables:
    if t.startswith("rocpd_info_kernel_symbol"):
        db.execute(f"UPDATE {t} SET display_name=?, kernel_name=? WHERE kernel_name LIKE '%producer%'",
                   ('=1+1"]]></a>|`<b>\n&\\x', "hostile.kd"))
db.commit()
END
for form in markdown csv openmetrics junit; do
    echo "== $form"
    rocm-perf report --title 'T "<1> | 2"' --format $form -o - soft.db
done
for file in a.md a.csv a.prom a.xml; do rocm-perf report --title T -o $file "$trace" && grep -ic 'software' $file; done
rocm-perf report --format csv "$trace" && cmp report.csv a.csv
python3 - <<'END'
import csv, xml.etree.ElementTree as tree
print([r["kernel"][:12] for r in csv.DictReader(open("a.csv", newline=""))])
print([c.get("name")[:12] for c in tree.parse("a.xml").iter("testcase")])
END
