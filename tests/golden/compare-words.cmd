# exit 2
# The result is the first line; the last one is a command that can be run, of paths with blanks, too; -v says the rest.
data="$SOURCE/tests/data/compare"
made() { sed "s/3\.0,/$2,/; s/3\.0\$/$2/; s/\"model\": \"fast\"/\"model\": \"${3:-detailed}\"/" "$data/software.json" >"$1"; }
made "a b.json" 3.0
made "it's.json" 1.5
made slower.json 4.5
next() {
    rocm-perf compare "$@" >out.txt
    head -1 out.txt
    tail -1 out.txt
    command=$(sed -n 's/^Next: //p' out.txt)
    eval "${command:-true}" >/dev/null && echo "it can be run"
}
next "a b.json" "it's.json"
next "a b.json" slower.json
next "a b.json" "a b.json"
echo "== what a command suggests has the margin"
next --margin 2.5 "a b.json" slower.json
echo "== nothing is remembered that does not pass its gates"
try() {
    rocm-perf compare "$@" >out.txt
    echo "exit $?"
    head -1 out.txt
    grep '^gate\|^Next: ' out.txt
}
mkdir faster && cp "it's.json" faster/profile.json
try "a b.json" faster --gate 'runtime<=1'
try "a b.json" faster --gate 'runtime<=0.4'
try "a b.json" "it's.json" --gate 'runtime<=0.4'
try "a b.json" faster --gate 'bytes<=1'
echo "== fewer copies change no kernel"
spans() { sed "s/\"gpu\": {/\"gpu_span_runs_ms\": [$2],&/" "$3" >"$1"; }
spans copies.json 9.0 "a b.json"
spans fewer.json 6.0 "a b.json"
spans faster.json 8.999 "it's.json"
try copies.json fewer.json --gate 'end_to_end<=0.7' --gate 'runtime<=1'
try fewer.json copies.json --gate 'end_to_end<=1.02'
try copies.json faster.json --gate 'kernel:reduce:end_to_end<=1'
try copies.json faster.json
rocm-perf compare --markdown copies.json fewer.json | grep '^| [0-9e]'
rocm-perf compare --json copies.json fewer.json | grep -A 1 '"whole"'
echo "== between bounds that overlap, or without bounds, only another model of time decides"
made old.json 3.0 fast
made unknown.json 60.0 fast
python3 - "$data/software.json" <<'END'
import json, sys
for name, times in (("bounded", (2, 4)), ("overlapping", (3, 5)), ("apart", (5, 9))):
    profile = json.loads(open(sys.argv[1]).read().replace("3.0", "6.0" if name == "apart" else "3.0"))
    bounds = dict(zip(("calls", "shortest_ms", "longest_ms"), (4, *times)))
    profile["timing"].update(model="counts", bounds=bounds)
    profile["kernels"][0]["bounds"] = bounds
    if name == "bounded":
        profile["provenance"]["command"] = ["./a b", "--size", "it's"]
    json.dump(profile, open(name + ".json", "w"))
END
try old.json unknown.json --gate 'runtime<=1.02'
try bounded.json old.json
try old.json bounded.json
try -v apart.json bounded.json
try bounded.json overlapping.json
rocm-perf compare old.json unknown.json | grep reduce
sed '/"command"/,/]/d' old.json >none.json
try bounded.json none.json
rocm-perf compare "$data/before.json" "$data/after.json" >brief.txt
rocm-perf compare -v "$data/before.json" "$data/after.json" | diff brief.txt - | grep '^>' | sed "s|$data|DATA|g"
rocm-perf compare -v --json "a b.json" slower.json
