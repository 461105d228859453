# exit 2
# The result is the first line; the last one is a command that can be run, of paths with blanks, too; -v says the rest.
data="$SOURCE/tests/data/compare"
made() { sed "s/3\.0,/$2,/; s/3\.0\$/$2/" "$data/software.json" >"$1"; }
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
rocm-perf compare "$data/before.json" "$data/after.json" >brief.txt
rocm-perf compare -v "$data/before.json" "$data/after.json" | diff brief.txt - | grep '^>' | sed "s|$data|DATA|g"
rocm-perf compare -v --json "a b.json" slower.json
