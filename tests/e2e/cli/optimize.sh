# A session accepts what is faster, rejects what is slower, and leaves the source
# alone.
. "$(dirname "$0")/../lib.sh"
example unrolled
cp "$SOURCE/tests/e2e/programs/unrolled.hip" .
cp unrolled.hip before.hip
optimize() { rocm-perf optimize ./unrolled --source unrolled.hip --device software --timing detailed --max-iters 1 "$@"; }
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

# From counts, the times before and after overlap: nothing is accepted.
expect 1 optimize --max-rounds 1 --timing counts -o by-counts
says out "bounds: the bounds of both times overlap: use --timing detailed"
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/optimize.schema.json" by-counts/optimize.json >/dev/null ||
    fail "JSON of what is not accepted"
untouched

# Only --apply changes the source, and keeps what it was.
mv unrolled.hip real.hip
ln -s real.hip unrolled.hip
chmod 640 real.hip
rm -f unrolled_opt.hip unrolled_opt.patch # what is there keeps its mode
expect 0 optimize --max-rounds 1 -o whole --resume --apply
[ "$(readlink unrolled.hip)" = real.hip ] || fail "the link is no link any more"
for file in real.hip unrolled.hip.orig unrolled_opt.hip unrolled_opt.patch; do
    [ "$(stat -c %a "$file")" = 640 ] || fail "$file: others may read it"
done
[ "$(stat -c %a whole)" = 700 ] || fail "whole: others may read it"
cmp unrolled.hip unrolled_opt.hip || fail "not applied"
cmp unrolled.hip.orig before.hip || fail "no backup"
rm unrolled.hip real.hip
cp before.hip unrolled.hip

# What was not built so, and what was never right.
expect 3 optimize -o other --build "hipcc -O1 unrolled.hip -o unrolled"
says err "is not what"
expect 2 optimize -o never --check ' '
says err "an empty command says yes to everything"
expect 5 optimize -o never --check 'exit 1'
says err "the command of --check says no"
untouched
echo passed
