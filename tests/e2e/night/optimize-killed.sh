#!/usr/bin/env bash
# Sessions of rocm-perf optimize are killed with SIGKILL at random moments and resumed, again and again,
# until KILLS (default 50) have been: after each the source is as it was, nothing that was started lives
# on, and what results is there whole or not at all; each session ends with what one without kills ends
# with, to the byte. The moments are from SEED (default 1). About a quarter of an hour; not in ./check:
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

# alive FOLDER: processes that have this session's folder in their command line
alive() { pgrep -f -- "$SCRATCH/$1/" || true; }

# is FILE OTHER: it is not there, or it is the other.
is() { [ ! -e "$1" ] || cmp "$1" "$2"; }

kills=0 sessions=0
declare -A at
while [ "$kills" -lt "$KILLS" ]; do
    sessions=$((sessions + 1)) ended=
    folder=killed-$sessions
    rm -f strided_sum_opt.hip strided_sum_opt.patch
    until [ -n "$ended" ]; do
        resume=
        [ ! -s $folder/journal.jsonl ] || resume=--resume
        if [ "$kills" -lt "$KILLS" ]; then
            # RANDOM has 15 bits. Up to half a session: it ends after some kills.
            wait_ms=$((RANDOM * longest_ms / 65536))
            "${command[@]}" -o "$SCRATCH/$folder" $resume >out 2>err </dev/null &
            session=$!
            sleep "$((wait_ms / 1000)).$(printf %03d $((wait_ms % 1000)))"
            if kill -9 $session 2>/dev/null; then
                kills=$((kills + 1))
                got=0
                wait $session 2>/dev/null || got=$?
                [ $got = 137 ] || ended=$got
            else
                got=0
                wait $session || got=$?
                ended=$got
            fi
        else
            ended=0
            "${command[@]}" -o "$SCRATCH/$folder" $resume >out 2>err </dev/null || ended=$?
        fi
        cmp strided_sum.hip before.hip || fail "kill $kills: the source was changed"
        is strided_sum_opt.hip whole.hip || fail "kill $kills: another result"
        is strided_sum_opt.patch whole.patch || fail "kill $kills: another patch"
        is $folder/optimize.json whole/optimize.json || fail "kill $kills: another optimize.json"
        [ -n "$ended" ] && break
        last=$(tail -n 1 $folder/journal.jsonl 2>/dev/null | grep -o '"kind":"[a-z]*"' || echo nothing)
        at[$last]=$((${at[$last]:-0} + 1))
        echo "kill $kills, session $sessions: after $wait_ms ms, $last"
        for i in $(seq 100); do
            left=$(alive $folder)
            [ -n "$left" ] || break
            sleep 0.1
        done
        [ -z "$left" ] || { ps -fp $left >&2; fail "kill $kills: it left processes behind for 10 s"; }
    done
    [ "$ended" = 0 ] || { cat err >&2; fail "session $sessions ended with $ended after $kills kills"; }
    cmp strided_sum_opt.hip whole.hip && cmp strided_sum_opt.patch whole.patch &&
        cmp $folder/optimize.json whole/optimize.json || fail "session $sessions: not what it is without kills"
    rm -rf $folder
done
echo "$kills kills in $sessions sessions; the last record was"
for last in "${!at[@]}"; do echo "  ${at[$last]} $last"; done
echo passed
