# A capture says whether it replays to its own state, and keeps that among its checksums.
. "$(dirname "$0")/../lib.sh"
example memories
export ROCM_PERF_DEVICE_TIMING=off
export ASAN_OPTIONS=verify_asan_link_order=0 # for a rocm-perf built with it: we preload in front
mkdir dumps

# labelled LABEL MODE KERNEL [N]
labelled() {
    rm -rf cap
    expect 0 rocm-perf isolate --kernel "$3" --dispatch "${4:-1}" --device software -o cap ./memories "$2" dumps
    says out "replayed: $1"
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/capture_self_check.schema.json" cap/self_check.json \
        >/dev/null || fail "$2: JSON"
    [ "$(json label cap/self_check.json)" = "$1" ] || { cat cap/self_check.json; fail "$2: label"; }
    expect 0 rocm-perf isolate verify cap
}

labelled deterministic histogram target_histogram 3
[ "$(json equal_runs cap/self_check.json)" = 3 ] || fail "three runs"
labelled deterministic chase target_chase
labelled order-dependent varying target_turns
says cap/self_check.json "numbers near those: sums in an order that varies, or a clock"
labelled order-dependent varying target_clock
says cap/self_check.json "nor the same among themselves; what differs is not near as numbers: perhaps a clock"
labelled "not replayable" print target_print
says cap/self_check.json "hidden_hostcall_buffer"

[ "$(json capture_complete cap/self_check.json)" = true ] || fail "complete"
cp -r cap kept
rm -rf cap
expect 0 rocm-perf isolate --kernel target_scale --device software -o cap ./memories gone dumps
[ "$(json capture_complete cap/self_check.json)" = false ] || { cat cap/self_check.json; fail "not complete"; }
rm -rf cap
mv kept cap

# Part of the capture: a changed byte is found.
sed -i 's/not replayable/deterministic /' cap/self_check.json
expect 3 rocm-perf isolate verify cap
says err "self_check.json is damaged"

rm -rf cap
expect 0 rocm-perf isolate --no-self-check --kernel target_scale --device software -o cap/ ./memories arith dumps
[ ! -e cap/self_check.json ] || fail "checked"
grep -q replayed out && fail "checked"
expect 0 rocm-perf isolate verify cap
echo passed
