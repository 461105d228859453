# A session accepts what is faster, rejects what is slower, goes on after kills, and leaves the source
# alone. KILLS=N kills it N times, at random moments (default: three, behind certain records).
. "$(dirname "$0")/../lib.sh"
example unrolled
cp "$SOURCE/tests/e2e/programs/unrolled.hip" .
cp unrolled.hip before.hip
optimize() { rocm-perf optimize ./unrolled --source unrolled.hip --device software --timing fast --max-iters 1 "$@"; }
untouched() { cmp -s unrolled.hip before.hip || fail "the source was changed: $*"; }

# Three numbers each: unrolling costs more than it saves.
expect 1 optimize -o short -- 3
says out "Nothing was worth accepting."
says out "slower"
[ ! -e unrolled_opt.hip ] || fail "a result that nobody accepted"
untouched

# Many: it helps.
expect 0 optimize --max-rounds 1 -o whole
says out "1 accepted"
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/optimize.schema.json" whole/optimize.json short/optimize.json \
    >/dev/null || fail "JSON"
untouched
cp unrolled_opt.hip by_patch.hip
patch -s -R by_patch.hip unrolled_opt.patch
cmp by_patch.hip before.hip || fail "the patch does not lead back"
grep -q '#pragma unroll' unrolled_opt.hip || fail "not unrolled"
expect 0 rocm-perf hipcc unrolled_opt.hip -o opt
expect 0 rocm-perf run --device software ./opt
mv out opt.out
expect 0 rocm-perf run --device software ./unrolled
cmp out opt.out || fail "the result prints something else"
expect 2 optimize -o whole
says err "--resume"

# Killed behind records and resumed each time: the same to the byte as without.
begun=
for number in $(seq "${KILLS:-3}"); do
    setsid rocm-perf optimize ./unrolled --source unrolled.hip --device software --timing fast --max-iters 1 --max-rounds 1 \
        -o killed $begun >killed.out 2>killed.err </dev/null &
    session=$!
    if [ -n "${KILLS:-}" ]; then
        sleep "$((RANDOM % 20)).$((RANDOM % 10))"
    else
        wanted=$((number == 1 ? 1 : number + 2)) # session, attempt, confirmation
        until [ "$(cat killed/journal.jsonl 2>/dev/null | wc -l)" -ge $wanted ]; do
            kill -0 $session 2>/dev/null || { cat killed.err; fail "it ended before record $wanted"; }
            sleep 0.05
        done
    fi
    kill -9 $session 2>/dev/null || true
    wait $session 2>/dev/null || true
    untouched "kill $number"
    [ ! -e killed/journal.jsonl ] || begun=--resume
done
printf '{"sha256":"torn' >>killed/journal.jsonl
expect 2 optimize --max-rounds 2 -o killed --resume
says err "most_rounds"
says err "bytes are cut off"

# Only --apply changes the source, and keeps what it was.
expect 0 optimize --max-rounds 1 -o killed --resume --apply
cmp whole/optimize.json killed/optimize.json || fail "not the same after kills"
cmp unrolled.hip unrolled_opt.hip || fail "not applied"
cmp unrolled.hip.orig before.hip || fail "no backup"
cp before.hip unrolled.hip

# What was not built so, and what was never right.
expect 3 optimize -o other --build "hipcc -O1 unrolled.hip -o unrolled"
says err "is not what"
expect 5 optimize -o never --check 'exit 1'
says err "the command of --check says no"
untouched
echo passed
