#!/usr/bin/env bash
# Sessions of rocm-perf optimize are killed with SIGKILL and resumed, again and again, until KILLS (default
# 50) have been: behind each kind of record of the journal as soon as it appears, in every second session
# at random moments. After each kill the source is as it was, nothing that was started lives on, and what
# results is there whole or not at all; each session ends with what one without kills ends with, to the
# byte. The moments are from SEED (default 1). About ten minutes; not in ./check:
#   BUILD=$PWD/build bash tests/e2e/night/optimize-killed.sh
: "${BUILD:?the build folder}"
BUILD=$(realpath "$BUILD")
. "$(dirname "$0")/../lib.sh"
KILLS=${KILLS:-50} RANDOM=${SEED:-1}
cp "$SOURCE/tests/e2e/programs/unroll/strided_sum.hip" "$SOURCE/examples/check.h" .
cp strided_sum.hip before.hip
expect 0 rocm-perf hipcc -O3 strided_sum.hip -o strided_sum
command=(rocm-perf optimize ./strided_sum --source strided_sum.hip --device software --timing detailed
    --max-iters 1 --max-rounds 1)

begin=$(date +%s%N)
expect 0 "${command[@]}" -o whole
longest_ms=$((($(date +%s%N) - begin) / 1000000))
mv strided_sum_opt.hip whole.hip
mv strided_sum_opt.patch whole.patch
echo "a session takes $((longest_ms / 1000)) s"

# is FILE OTHER: it is not there, or it is the other.
is() { [ ! -e "$1" ] || cmp "$1" "$2"; }

kills=0 sessions=0
declare -A behind
# killed WHEN: what holds after each kill. Counts it by the last record.
killed() {
    local last left
    kills=$((kills + 1))
    cmp strided_sum.hip before.hip || fail "kill $kills: the source was changed"
    is strided_sum_opt.hip whole.hip || fail "kill $kills: another result"
    is strided_sum_opt.patch whole.patch || fail "kill $kills: another patch"
    is "$folder/optimize.json" whole/optimize.json || fail "kill $kills: another optimize.json"
    last=$(tail -n 1 "$folder/journal.jsonl" 2>/dev/null | grep -o '"kind":"[a-z]*","sequence"' | cut -d '"' -f 4) || true
    last=${last:-nothing}
    behind[$last]=$((${behind[$last]:-0} + 1))
    echo "kill $kills, session $sessions: $1; the last record is $last"
    for i in $(seq 100); do # processes that have this session's folder in their command line
        left=$(pgrep -f -- "$SCRATCH/$folder/" || true)
        [ -n "$left" ] || return 0
        sleep 0.1
    done
    ps -fp $left >&2
    fail "kill $kills: it left processes behind for 10 s"
}

# Sets arguments, for the next start of a session.
next() {
    arguments=(-o "$SCRATCH/$folder")
    [ ! -s "$folder/journal.jsonl" ] || arguments+=(--resume)
}

# Kills behind records, one of each kind.
by_records() {
    local kind
    for kind in session program profile base proposal attempt confirmation application whole result finished; do
        [ "$kills" -lt "$KILLS" ] || return 0
        next
        if python3 "$SOURCE/tests/e2e/kill_behind.py" "$folder/journal.jsonl" $kind \
            "${command[@]}" "${arguments[@]}" >out 2>err; then
            killed "behind $kind"
        else
            # Only these are followed by nothing that takes time.
            [ $kind = finished ] || [ $kind = result ] || { cat out err >&2; fail "session $sessions: no $kind"; }
        fi
    done
}

# Kills at random moments, until a session ends by itself.
by_chance() {
    local wait_ms session got
    while [ "$kills" -lt "$KILLS" ]; do
        next
        # RANDOM has 15 bits. Up to half a session: it ends after some kills.
        wait_ms=$((RANDOM * longest_ms / 65536))
        "${command[@]}" "${arguments[@]}" >out 2>err </dev/null &
        session=$!
        sleep "$((wait_ms / 1000)).$(printf %03d $((wait_ms % 1000)))"
        kill -9 $session 2>/dev/null || true
        got=0
        wait $session 2>/dev/null || got=$?
        [ $got = 137 ] || { [ $got = 0 ] || { cat err >&2; fail "session $sessions: exit status $got"; }; return 0; }
        killed "after $wait_ms ms"
    done
}

while [ "$kills" -lt "$KILLS" ]; do
    sessions=$((sessions + 1)) folder=killed-$sessions
    rm -f strided_sum_opt.hip strided_sum_opt.patch
    if [ $((sessions % 2)) = 1 ]; then by_records; else by_chance; fi
    next
    expect 0 "${command[@]}" "${arguments[@]}"
    cmp strided_sum_opt.hip whole.hip && cmp strided_sum_opt.patch whole.patch &&
        cmp $folder/optimize.json whole/optimize.json || fail "session $sessions: not what it is without kills"
    rm -rf $folder
done
echo "$kills kills in $sessions sessions; the last record was"
for last in "${!behind[@]}"; do echo "  ${behind[$last]} $last"; done
echo passed
