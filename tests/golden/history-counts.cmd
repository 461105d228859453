# Times of counts timing are bounds, on which no change is seen, also where they stay within the margin, and also under
# the name that it had; a new series of detailed timing takes their place.
data=$SOURCE/tests/data/compare
# add N MODEL MS PROGRAM: a result of day N.
add() {
    sed "s/\"fast\"/\"$2\"/; s/3\\.0,/$3,/; s/3\\.0\$/$3/" "$data/software.json" >r.json
    rocm-perf history add --commit "c$1" --at "2026-11-0${1}T00:00:00Z" --program "$4" r.json >/dev/null
}
try() { rocm-perf history check "$@"; echo "exit $?"; }
add 1 counts 3.0 ./app
add 2 counts 110.1 ./app
add 3 counts 3.0 ./app
try
try --strict --kernel ''
rocm-perf history check --json >check.json
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/history.schema.json" check.json
grep -o '"bounds": [a-z]*\|"changes": .*"device"\|"exact": [a-z]*\|"state": "[a-z]*"' check.json
echo "== beside others"
add 4 detailed 3.0 ./other
try --kernel ''
echo "== with its old name"
# sqlite3 writes what an old history holds.
sqlite3 .rocm-perf/history.db "update result set device = replace(device, 'counts timing', 'fast timing')"
rocm-perf history check --program ./app --kernel '' | head -1
echo "== with the remedy"
add 5 detailed 3.0 ./app
add 6 detailed 3.0 ./app
try --program ./app --kernel ''
echo "== bounds do not take the place of times"
add 7 detailed 3.1 ./app
add 8 counts 3.0 ./app
try --program ./app --kernel ''
