# Pictures: of a trace of streams, also as if of the software device, and of counters.
trace="$SOURCE/tests/data/rocpd/streams-hip_results.db"
rocm-perf report --title 'T <1>' --format svg-timeline -o - "$trace" >a.svg && cat a.svg
rocm-perf report --title 'T <1>' -o b.roofline.svg "$SOURCE/tests/data/counters/vcopy_MI100" && cat b.roofline.svg
rocm-perf report --title 'T <1>' --format svg-roofline -o - "$SOURCE/tests/data/counters/vcopy_MI300X_A1_rocpd" >c.svg && cat c.svg
cp "$trace" soft.db
python3 - <<'END'
import sqlite3, xml.etree.ElementTree as tree
db = sqlite3.connect("soft.db")
meta = next(n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE name LIKE 'rocpd_metadata%' AND type='table'"))
db.execute(f"INSERT INTO {meta}(tag, value) VALUES('rocm_perf_device', 'software')")
db.commit()
for name in ("a.svg", "b.roofline.svg", "c.svg"):
    print(name, tree.parse(name).getroot().find("{http://www.w3.org/2000/svg}title").text)
END
rocm-perf report --format svg-timeline -o - soft.db | grep SOFTWARE
# What takes no time is seen, and a name without room is whole under the pointer, its marks that reorder are not.
python3 - <<'END'
import re, sqlite3, subprocess, xml.etree.ElementTree as tree
db = sqlite3.connect("soft.db")
names = {n.rsplit("_0", 1)[0]: n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")}
table = lambda kind: next(n for n in names.values() if n.startswith(kind))
db.execute(f'UPDATE {table("rocpd_kernel_dispatch")} SET "end" = start')
db.execute(f"UPDATE {table('rocpd_info_kernel_symbol')} SET display_name = ? WHERE display_name LIKE 'stage%'", ("k" + "x" * 10000 + "\u202eend",))
db.commit()
svg = subprocess.run(["rocm-perf", "report", "--format", "svg-timeline", "-o", "-", "soft.db"], stdout=subprocess.PIPE, check=True).stdout.decode()
columns = re.findall(r'<rect x="(\d+)" y="[\d.]+" width="\d+" height="3.00" fill="#(?:333|999)"/>', svg)
print("columns of nothing but what takes no time:", len(columns) > 10)
titles = [t.text for t in tree.fromstring(svg).iter("{http://www.w3.org/2000/svg}title")]
print("whole names:", sum(t == "k" + "x" * 10000 + r"\u202eend" for t in titles), "marks:", svg.count("\u202e"))
END
# Not of what was not recorded.
rocm-perf report --format svg-roofline "$trace"; echo "exit $?"
rocm-perf report --format svg-timeline "$SOURCE/tests/data/counters/vcopy_MI100"; echo "exit $?"
ls
