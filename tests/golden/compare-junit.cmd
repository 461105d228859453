# exit 3
# JUnit XML of gates, of verdicts, of a replay with other output, and of what is refused.
cd "$SOURCE/tests/data/compare"
out=$OLDPWD
sed 's/"verdict": "[^"]*"/"verdict": "different output"/' replay.json >"$out/wrong.json"
sed 's/reduce(float\*)/a\\n]]><b c=\\"\x27\\">\&\\u0001\\uffff/' after.json >"$out/hostile.json"
sed 's/reduce(float\*)/a\\n]]><b c=\\"\x27\\">\&\\u0001\\uffff/' before.json >"$out/names.json"
try() { rocm-perf compare "$@"; echo "exit $?"; }
try before.json after.json drift.json --allow-missing --junit - --gate 'kernel:gemm:runtime<=1.02' --gate 'runtime<=2' \
    --gate 'kernel:gone:vgprs<=before'
try "$out/names.json" "$out/hostile.json" --junit -
try software.json software.json --junit -
try "$out/wrong.json" --junit -
try few.json software.json --junit -
try before.json after.json --junit - --json
try before.json after.json --junit a --junit b
try before.json after.json --junit ''
cd "$out"
data=$SOURCE/tests/data/compare
# Beside any form; in place of what a build before has left, also when it is refused.
echo old >file.xml
rocm-perf compare "$data/before.json" "$data/after.json" --allow-missing --gate 'runtime<=2' --json --junit file.xml >file.json
python3 "$SOURCE/tests/report/junit.py" file.xml 0 0
echo old >file.xml
try "$data/few.json" missing.json --junit file.xml
python3 "$SOURCE/tests/report/junit.py" file.xml 0 1
try "$data/before.json" "$data/after.json" "$data/drift.json" --gate 'runtime<=1.02' --gate 'cv<=0' --junit file.xml >table
python3 "$SOURCE/tests/report/junit.py" file.xml "$(grep -cE '^gate (failed|undecided)' table)" 0
rocm-perf compare "$out/names.json" "$out/hostile.json" --junit named.xml >/dev/null
python3 "$SOURCE/tests/report/junit.py" named.xml 0 0 'a\x0a]]><b c="'\''">&\x01?'
# A time that nobody has measured is no number of seconds.
python3 - "$data/before.json" <<'END'
import json, sys
profile = json.load(open(sys.argv[1]))
profile["kernels"][0]["runs_ms"] = [1e308] * 10
json.dump(profile, open("huge.json", "w"))
END
rocm-perf compare "$data/before.json" huge.json --junit huge.xml >/dev/null
python3 "$SOURCE/tests/report/junit.py" huge.xml 0 0
rocm-perf report --format junit -o report.xml "$SOURCE/tests/data/rocpd/streams-hip_results.db" >/dev/null
python3 "$SOURCE/tests/report/junit.py" report.xml 0 0
ls
rocm-perf compare "$data/few.json" "$data/software.json" --junit missing/file.xml
