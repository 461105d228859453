# exit 2
# Changes near the start, one odd result, what cannot be told, --strict; results that are removed; wrong times.
data=$SOURCE/tests/data/compare
try() { rocm-perf history "$@"; echo "exit $?"; }
# add N DB MS: a result of day N.
add() {
    sed "s/3\.001693/$3/; s/2\.996868/$3/; s/3\.01458/$3/" "$data/few.json" >r.json
    rocm-perf history add --db "$2" --commit "c$1" --program app --at "2026-10-$(printf %02d "$1")T00:00:00Z" r.json >/dev/null
}
for day in 1 2 3 4; do add $day early.db 3.000$((day * 7 % 5)); done
for day in 5 6; do add $day early.db 3.150$((day * 7 % 5)); done
echo "== two slower ones after four"
try check --db early.db --kernel ''
for day in 1 2 3 4 5 6 7 8 9 10 11 12; do add $day odd.db 3.000$((day * 7 % 5)); done
try check --db odd.db --kernel '' --strict
add 13 odd.db 4.5
echo "== one odd result"
try check --db odd.db --kernel ''
try check --db odd.db --kernel '' --strict
try check --db odd.db --kernel '' --json >check.json
sed -i '$d' check.json
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/history.schema.json" check.json
echo "== removed again"
rocm-perf history list --db odd.db | tail -n 1
try remove --db odd.db 13 13
try check --db odd.db --kernel '' --strict
for day in 1 2 3 4 5 6 7 8 9 10; do add $day noisy.db 3.$((day * 7 % 5))00; done
echo "== noise"
try check --db noisy.db --kernel ''
try check --db noisy.db --kernel '' --margin 40 --strict
for day in 1 2 3 4 5 6 7 8 9 10; do add $day back.db 3.000$((day * 7 % 5)); done
for day in 11 12; do add $day back.db 3.1500; done
for day in 13 14; do add $day back.db 3.000$((day * 7 % 5)); done
echo "== taken back"
try check --db back.db --kernel ''
add 11 odd.db 4.4
add 12 odd.db 4.5
sed 's/"complete": true/"complete": false/' "$data/few.json" >lost.json
rocm-perf history add --db odd.db --program app --at 2026-10-20T00:00:00Z --commit lost lost.json
echo "== what is not complete"
try check --db odd.db --kernel '' --strict
sed 's/"fast"/"detailed"/' "$data/software.json" >software.json
for day in 1 2 3; do rocm-perf history add --db wide.db --program app --at "2026-10-0${day}T00:00:00Z" --commit "w$day" software.json >/dev/null; done
python3 - software.json >differs.json <<'END'
import json, sys
profile = json.load(open(sys.argv[1]))
for of in [profile["stability"]] + profile["kernels"]:
    of["runs_ms"].append(of["runs_ms"][0] + 0.0001)
print(json.dumps(profile))
END
rocm-perf history add --db wide.db --program app --at 2026-10-04T00:00:00Z --commit w4 differs.json
echo "== modelled, and not the same in each run"
try check --db wide.db --kernel ''
echo "== refused"
try remove --db odd.db 3 99
rocm-perf history list --db odd.db | wc -l
try remove --db odd.db
try remove --db odd.db 1x
try remove --db none.db 1
[ ! -e none.db ] || echo "none.db was made"
try check --db odd.db --commit c1
rocm-perf history add --db odd.db --at 2999-01-01T00:00:00Z "$data/few.json"
