# exit 3
# Results of another model of time are another series. It says where it begins, and how many results it lacks as long as
# it lacks some; the series before is not judged any more, also if it was slower at its end.
data=$SOURCE/tests/data/compare
# add N MODEL VERSION MS: a result of day N.
add() {
    sed "s/\"fast\"/\"$2\"/; s/\"version\": 2/\"version\": $3/; s/3\\.0,/$4,/; s/3\\.0\$/$4/" "$data/software.json" >r.json
    rocm-perf history add --commit "c$1" --at "2026-11-0${1}T00:00:00Z" r.json
}
try() { rocm-perf history check "$@"; echo "exit $?"; }
add 1 detailed 1 3.01
add 2 detailed 1 3.02
try
add 3 detailed 2 9.0
try
for day in 4 5 6; do add $day detailed 2 9.0; done
try
rocm-perf history check -v | sed -n '3,6p'
rocm-perf history check --json >check.json
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/history.schema.json" check.json
grep -o '"replaced": [a-z]*\|"state": "[a-z]*"' check.json
add 7 detailed 2 9.1
try
# Of two models that go on beside each other none takes the other's place.
rm -r .rocm-perf
for day in 1 3; do
    add $day detailed 1 5.0 && add $((day + 1)) detailed 2 9.0
done >/dev/null
rocm-perf history check --json | grep -o '"replaced": [a-z]*'
# What was measured before is before, also when it is added later.
rm -r .rocm-perf
for day in 3 4 1 2; do
    add $day detailed $(((day + 1) / 2)) 5.0
done >/dev/null
rocm-perf history check --json | grep -o '"device": "[^"]*"\|"replaced": [a-z]*'
# The refusal names what makes the base again.
sed 's/"fast"/"detailed"/' "$data/software.json" >detailed.json
rocm-perf compare "$data/software.json" detailed.json
