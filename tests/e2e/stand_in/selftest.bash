# Shared by the tests of doctor --selftest; sourced behind lib.sh.
export RP_BUILD=$BUILD
unset ROCM_PERF_DEVICE_TIMING
mkdir bin tracer
for file in lib rocm-perf-replay rocm-perf-selftest; do ln -s "$BUILD/$file" bin/; done
cp "$BUILD/rocm-perf" bin/doctor
ln -s "$SOURCE/tests/e2e/stand_in/selftest_suite" bin/rocm-perf
ln -s "$SOURCE/tests/e2e/stand_in/selftest_rocprofv3" tracer/rocprofv3

# selftest FAULT STEPS [OPTIONS]: with that fault of the suite or its tracer, or none.
selftest() { BREAK=$1 bin/doctor doctor --selftest --steps "$2" "${@:3}"; }
schema() { expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/selftest.schema.json" "$1"; }

# of_step KEY STEP: what the file says.
of_step() {
    python3 -c 'import json, sys
document = json.load(open("rocm-perf-selftest.json"))
print({step["name"]: step[sys.argv[1]] for step in document["steps"]}[sys.argv[2]])' "$@"
}

# breaks FAULT STEP TEXT: the step fails with that reason.
breaks() {
    expect 1 selftest "$1" "$2"
    says out "$3"
    [ "$(of_step status "$2")" = failed ] || fail "$1: $2 has not failed"
    schema rocm-perf-selftest.json
}
