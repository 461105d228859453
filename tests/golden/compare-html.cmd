# exit 2
# A page beside the table, in its place, and in place of what a build before has left when results are refused.
cd "$SOURCE/tests/data/compare"
out=$OLDPWD
try() { rocm-perf compare "$@"; echo "exit $?"; }
try before.json after.json --html "$out/page.html" --allow-missing | tail -1
python3 "$SOURCE/tests/html/extract.py" "$out/page.html" "$out/page"
rocm-perf compare before.json after.json --json >"$out/compare.json"
cmp "$out/compare.json" "$out/page/compare.json" && echo "the page has compare.json"
rocm-perf compare before.json after.json --html - >"$out/printed.html"
cmp "$out/printed.html" "$out/page.html" && echo "the printed page is the same"
try before.json missing.json --html "$out/page.html"
python3 "$SOURCE/tests/html/extract.py" "$out/page.html" "$out/page" && cat "$out/page/refused.json"
try before.json after.json --html before.json
try before.json after.json --html - --junit -
try before.json after.json --html - --json
exec rocm-perf compare before.json after.json --html ''
