# The page holds what analyze writes, byte for byte but for the chain of the graph, which its timeline has.
trace="$SOURCE/tests/data/rocpd/streams-hip_results.db"
rocm-perf report -o page.html --title T "$trace"
python3 "$SOURCE/tests/html/extract.py" page.html page >/dev/null
rocm-perf analyze -o out "$trace" >/dev/null
cmp out/analysis.json page/analysis.json && echo "analysis is the same"
python3 - <<'END'
import json
whole, page, t = (json.load(open(name)) for name in ("out/dag.json", "page/dag.json", "page/timeline.json"))
chain = whole["critical_path"]["chain"]
whole["critical_path"]["chain"] = []
print("dag", "is the same but for its chain" if chain and whole == page else "differs")
on_path = sorted((int(t["start_ns"][i]), t["id"][i]) for i in range(len(t["id"])) if t["on_path"][i])
print("the timeline", "has the chain" if [o[1] for o in on_path] == [c["id"] for c in chain] else "lacks the chain")
END
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
