# A session that is killed behind records of its journal and resumed each time ends the same to the byte as without.
. "$(dirname "$0")/../lib.sh"
example unrolled
cp "$SOURCE/tests/e2e/programs/unrolled.hip" .
cp unrolled.hip before.hip
optimize() { rocm-perf optimize ./unrolled --source unrolled.hip --device software --timing detailed --max-iters 1 "$@"; }
untouched() { cmp -s unrolled.hip before.hip || fail "the source was changed: $*"; }

expect 0 optimize --max-rounds 1 -o whole
# Killed behind records and resumed each time: the same to the byte as without.
command=(rocm-perf optimize ./unrolled --source unrolled.hip --device software --timing detailed --max-iters 1 --max-rounds 1
    -o killed)
for kind in attempt confirmation application finished; do
    if ! python3 "$SOURCE/tests/e2e/kill_behind.py" killed/journal.jsonl $kind "${command[@]}" >killed.out 2>killed.err; then
        # Behind this one there is next to nothing.
        [ $kind = finished ] || { cat killed.out killed.err >&2; fail "it was not killed behind $kind"; }
    fi
    [ "$kind" = "$(tail -n 1 killed/journal.jsonl | sed 's/.*"kind":"\([a-z]*\)","sequence".*/\1/')" ] || fail "not $kind"
    [ $kind = finished ] || [ ! -e killed/optimize.json ] || fail "a result before the end"
    untouched "killed behind $kind"
    command+=(--resume)
done
printf '{"sha256":"torn' >>killed/journal.jsonl
expect 2 optimize --max-rounds 2 -o killed --resume
says err "was begun otherwise: --max-rounds was 1, is 2;"
says err "bytes are cut off"
expect 0 optimize --max-rounds 1 -o killed --resume --apply
cmp whole/optimize.json killed/optimize.json || { diff whole/optimize.json killed/optimize.json; fail "not the same after kills"; }
cmp unrolled.hip unrolled_opt.hip || fail "not applied"
cmp unrolled.hip.orig before.hip || fail "no backup"
echo passed
