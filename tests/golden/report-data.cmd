# The page holds what analyze writes, byte for byte, and its timeline what the graph says.
trace="$SOURCE/tests/data/rocpd/streams-hip_results.db"
rocm-perf report -o page.html --title T "$trace"
python3 "$SOURCE/tests/html/extract.py" page.html page >/dev/null
rocm-perf analyze -o out "$trace" >/dev/null
for name in dag analysis; do cmp out/$name.json page/$name.json && echo "$name is the same"; done
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/timeline.schema.json" page/timeline.json
rocm-perf analyze --json --full "$trace" >full.json
python3 - <<'END'
import json
full, t = json.load(open("full.json")), json.load(open("page/timeline.json"))
ops = sorted(zip(t["copy"], t["id"], t["slack_ns"], t["on_path"]))
want = sorted([(0, d["dispatch_id"], d["slack_ns"], int(d["on_critical_path"])) for d in full["dispatches"]] +
              [(1, d["copy_id"], d["slack_ns"], int(d["on_critical_path"])) for d in full["copies"]])
print("operations and slack", "are the same" if ops == want else "differ")
END
sed '/"name": \[/,$d' page/timeline.json
sed -n '/"via"/,$p' page/timeline.json
