# For scenarios of captures and replays of tests/e2e/programs/memories.hip, which knows its own memory. Sourced after lib.sh.
example memories
export ROCM_PERF_DEVICE_TIMING=off
mkdir dumps

# captures MODE KERNEL [N]: captured, sound, as the program says.
captures() {
    rm -rf cap dumps
    mkdir dumps
    expect 0 rocm-perf isolate --no-self-check --kernel "$2" --dispatch "${3:-1}" --device software -o cap ./memories "$1" dumps
    mv out said
    expect 0 rocm-perf isolate verify cap
    "$BUILD/tests/capture_check" cap <said >checked || { cat checked said; fail "$1"; }
    echo "$1: $(cat checked)"
    for part in dispatch regions coverage; do
        case $part in regions) file=memory_regions ;; *) file=$part ;; esac
        python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/capture_$part.schema.json" "cap/$file.json" >/dev/null ||
            fail "$1: $file.json is not as its schema says"
    done
    [ "$(json refused cap/coverage.json)" = '[]' ] || { cat cap/coverage.json; fail "$1: something is refused"; }
    [ "$(json dispatch.match cap/dispatch.json)" = "${3:-1}" ] || fail "$1: another dispatch"
}

# captured MODE KERNEL [N]
captured() {
    rm -rf cap
    expect 0 rocm-perf isolate ${GPUS:-} --kernel "$2" --dispatch "${3:-1}" --device software -o cap ./memories "$1" dumps
}

# replays MODE KERNEL [N]: equal memory, each time.
replays() {
    captured "$@"
    expect 0 rocm-perf replay full-vm --capture-dir cap --verify --json --iterations 3 --warmup 1
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/replay.schema.json" out >/dev/null || fail "$1: JSON"
    [ "$(json verify.equal out)" = true ] || { cat out; fail "$1: other memory"; }
    [ "$(json execution.mode out)" = stateless ] || fail "mode"
    [ "$(json capture_complete out)" = true ] || fail "$1: complete"
    [ "$(json timing.samples out | tr -cd , | wc -c)" = 2 ] || fail "$1: three samples"
}

