# --no-rocprof needs no GPU program and measures the whole process.
. "$(dirname "$0")/../lib.sh"
expect 0 rocm-perf profile --no-rocprof --device software --json --runs 2 -- /bin/sh -c 'sleep 0.2; echo hello'
says err hello
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" out
[ "$(json provenance.tracer out)" = wallclock ] || fail tracer
[ "$(json runtime_ms out)" = null ] || fail 'a wall-clock time is given as runtime_ms'
python3 -c 'import json; p = json.load(open("out")); exit(not p["stability"]["mean_ms"] >= 200)' || fail 'mean below the sleep'
