# exit 1
# A series of 14 results, of which the last two are slower; a modelled one with one change; the same twice.
data=$SOURCE/tests/data/compare
# made FILE MS MS MS
made() { sed "s/3\.001693/$2/; s/2\.996868/$3/; s/3\.01458/$4/" "$data/few.json" >"$1"; }
for day in 01 02 03 04 05 06 07 08 09 10 11 12 13 14; do
    off=$((10#$day * 7 % 5)) base=3.0
    [ "$day" -lt 13 ] || base=3.1
    made r.json "${base}0$off" "${base}1$off" "${base}05"
    rocm-perf history add --commit "c$day" --program app --config n=64 --at "2026-11-${day}T00:00:00Z" r.json
    rocm-perf history check --margin 2 >/dev/null
    echo "check: $?"
done
rocm-perf history add --commit c14 --program app --config n=64 r.json
for day in 15 16 17; do
    sed "s/\"fast\"/\"detailed\"/; s/3\.0,/3.0$((day / 17)),/; s/3\.0\$/3.0$((day / 17))/" "$data/software.json" >s.json
    rocm-perf history add --commit "c$day" --at "2026-11-${day}T01:30:00+01:00" s.json
done
rocm-perf history check --device software
echo "exit $?"
rocm-perf history check --device software --margin 1
echo "exit $?"
rocm-perf history check --json >check.json
echo "exit $?"
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/history.schema.json" check.json
rocm-perf history plot -o x.svg && python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("x.svg")'
grep -c '<circle' x.svg
grep -o '+[0-9.]* %' x.svg
rocm-perf history check
