# What the first edition wrote (tests/data/edition1) is still read by every command that read it. Where a later
# version cannot read a file any more, it must refuse it by name with a remedy, and that row here must say so.
. "$(dirname "$0")/../lib.sh"
cp -r "$SOURCE/tests/data/edition1/." .
mkdir -p optimize-interrupted/tmp

# reads TEXT COMMAND...: it ends with 0 and says the text.
reads() {
    local text=$1
    shift
    expect 0 "$@"
    says out "$text"
}

# Every document is still valid under the schema of its kind.
valid() {
    local schema=$SOURCE/schemas/$1.schema.json
    shift
    python3 "$SOURCE/tests/validate_schema.py" "$schema" "$@"
}
valid profile profile-{one,many,O1,detailed}/profile.json
for kind in roofline dag analysis thread_trace; do
    valid $kind profile-many/$kind.json
done
valid compare compare.json
valid history history.json
valid doctor doctor.json
valid prompt prompt.json
valid replay replay.json
valid replay_compare replay-compare.json
valid optimize optimize-finished/optimize.json
valid capture_dispatch capture/dispatch.json
valid capture_regions capture/memory_regions.json
valid capture_coverage capture/coverage.json
valid autotune autotune{,-script}-finished/autotune.json

# Profile folders of one and of many runs, and of a program that failed.
for folder in profile-one profile-many profile-O1 profile-failed/failed; do
    reads row_sums rocm-perf analyze -o read $folder
    [ "$(json critical_path.by_class.kernel read/dag.json)" = 11320 ] || fail "analyze $folder: another time of kernels"
done
reads 'Thread trace of dispatch 4' rocm-perf analyze -v profile-many
reads 'row_sums' rocm-perf report --format markdown -o - profile-many
reads 'row_sums' rocm-perf report --format csv -o - profile-one
expect 0 rocm-perf report -o page.html profile-many
grep -q 'row_sums' page.html || fail 'the page lacks a kernel'
reads 'equal' rocm-perf compare profile-O1 profile-one profile-many profile-many/profile.json profile-many/trace_results.db
expect 3 rocm-perf compare profile-one profile-detailed
says err 'profile-detailed'
reads 'equal' rocm-perf compare replay-compare.json
reads 'row_sums' rocm-perf prompt --source tiny.hip --kernel row_sums --profile profile-many

# A history goes on.
chmod u+w history.db
reads 'aaaa' rocm-perf history list --db history.db
reads '9.270' rocm-perf history show --db history.db
expect 0 rocm-perf history add --db history.db --commit cccc --at 2026-11-25T20:15:00Z --program tiny profile-many
expect 0 rocm-perf history check --db history.db
reads '"commit": "cccc"' rocm-perf history export --db history.db
expect 0 rocm-perf history plot --db history.db -o history.svg
grep -q '<svg' history.svg || fail 'history plot draws nothing'
expect 0 rocm-perf history remove --db history.db "$(rocm-perf history list --db history.db | awk '/cccc/ { print $1 }')"
expect 0 rocm-perf history export --db history.db
says out '"commit": "aaaa"'
! grep -q cccc out || fail 'history remove has not removed it'

# A capture is inspected, verified and replayed.
reads 'row_sums' rocm-perf isolate --list .
reads 'row_sums' rocm-perf isolate inspect capture
reads 'capture is sound' rocm-perf isolate verify capture
reads 'memory after it is as captured' rocm-perf replay full-vm --device software --timing counts --verify --capture-dir capture
reads 'on gfx942 AMD Instinct MI300X (software device: modelled time (counts)' rocm-perf replay full-vm --capture-dir capture
reads 'can be had at their addresses' rocm-perf replay reserve-check --device software --capture-dir capture
reads 'median' rocm-perf replay compare a.hsaco b.hsaco --blocks 10 --device software --timing counts --capture-dir capture

# Searches go on. The device's timing model is part of what they are.
script() {
    rocm-perf autotune --space cost-space.json --cmd-template 'sh cost.sh {A} {B}' --output-regex 'cost ([0-9]+)' \
        --max-fraction 0.3 --repeats 1:2 --warmup 0 --device software --timing counts --resume -o "$1"
}
for search in autotune-script-interrupted autotune-script-finished; do
    reads 'A=4 B=5' script $search
    says err 'answers are in the journal'
done
rocm-perf hipcc -O3 tiny.hip -o tiny >&2 || fail 'cannot compile tiny.hip'
for search in autotune-interrupted autotune-finished; do
    # Their times are from counts, which are intervals now.
    expect 2 rocm-perf autotune --space space.json --cmd-template './tiny {BLOCK}' --max-fraction 0.99 \
        --repeats 1:1 --warmup 0 --top 1 --device software --timing counts --resume -o $search
    says err 'use --timing detailed'
    expect 2 rocm-perf autotune --space space.json --cmd-template './tiny {BLOCK}' --max-fraction 0.99 \
        --repeats 1:1 --warmup 0 --top 1 --device software --timing detailed --resume -o $search
    says err 'the model of time (--timing, ROCM_PERF_DEVICE_TIMING) was "counts", is "detailed"'
    says err 'begin anew with another -o'
done

# A session of optimize is bound to the folder in which the program is built: elsewhere it is refused by name.
for session in optimize-interrupted optimize-finished; do
    expect 2 rocm-perf optimize ./tiny --source tiny.hip --build 'hipcc -O3 {source} -o {output}' --kernel row_sums \
        --max-iters 4 --max-rounds 1 --device software --timing counts --resume -o $session
    says err "--resume: $session was begun otherwise"
    says err 'begin anew with another -o'
done
echo passed
