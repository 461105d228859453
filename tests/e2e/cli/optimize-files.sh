# What a session leaves beside the source: what is in the way is not overwritten, a kill around --apply
# loses nothing, and where a file cannot be written the rest is there all the same.
. "$(dirname "$0")/../lib.sh"
example unlucky
cp "$SOURCE/tests/e2e/programs/unlucky.hip" .
cp unlucky.hip before.hip
options=(--source unlucky.hip --device software --timing detailed --kernel most --max-iters 1 --max-rounds 1 --geometries 1)
optimize() { rocm-perf optimize ./unlucky "${options[@]}" "$@"; }

# A file of the user's own is seen before anything is done, and the folder can be used when it is moved.
echo precious >unlucky_opt.hip
expect 2 optimize -o first
says err "unlucky_opt.hip is in the way of the result"
[ ! -s first/journal.jsonl ] || fail "something was begun"
mv unlucky_opt.hip mine
expect 0 optimize -o first
says out "1 accepted"
cmp -s mine unlucky_opt.hip && fail "no result"
[ "$(json ended_by first/optimize.json)" = max-rounds ] || fail "ended by something else"

# What a session left may be replaced by the next, unless it was changed since.
expect 0 optimize -o first --resume
says err "was finished before"
echo >>unlucky_opt.patch
expect 2 optimize -o second
says err "unlucky_opt.patch is in the way"
rm unlucky_opt.patch
expect 2 optimize -o second
says err "unlucky_opt.hip is in the way"
rm unlucky_opt.hip

# The session as it was before anything was written: all that is left to do is to measure the result, and to write.
unwritten() {
    rm -rf "$1" unlucky_opt.* unlucky.hip.orig*
    cp -r first "$1"
    rm "$1/optimize.json"
    rm -f "$1/journal.jsonl.head" # as a kill before the end leaves it
    sed -i '/"kind":"\(whole\|result\|finished\)"/d' "$1/journal.jsonl"
    cp before.hip unlucky.hip
}
applied() {
    cmp unlucky.hip unlucky_opt.hip || fail "$1: not applied"
    cmp unlucky.hip.orig before.hip || fail "$1: no backup"
    [ ! -e unlucky.hip.orig.1 ] || fail "$1: two backups"
    cmp first/optimize.json second/optimize.json || fail "$1: another optimize.json"
    [ "$(grep -c '#pragma unroll' unlucky.hip)" = 1 ] || fail "$1: not one change"
}

# Killed when the result was about to be written, and when the source was replaced. Behind each of these
# records there is next to nothing: it may end before it is killed.
unwritten second
for kind in whole result finished; do
    python3 "$SOURCE/tests/e2e/kill_behind.py" second/journal.jsonl $kind rocm-perf optimize ./unlucky "${options[@]}" \
        -o second --resume --apply >killed.out 2>killed.err || grep -q '"kind":"finished"' second/journal.jsonl ||
        { cat killed.out killed.err; fail "$kind"; }
done
expect 0 optimize -o second --resume --apply
says out "unlucky.hip.orig is what it was"
applied "killed"
# As a kill right behind the rename of the source leaves it.
rm -f second/journal.jsonl.head
sed -i '/"kind":"finished"/d' second/journal.jsonl
rm second/optimize.json unlucky_opt.hip
expect 0 optimize -o second --resume --apply
says out "unlucky.hip is the accepted one already; unlucky.hip.orig is what it was"
applied "killed behind --apply"
expect 0 optimize -o second --resume
applied "without --apply"
# Another text is none of the session's.
echo >>unlucky.hip
expect 2 optimize -o second --resume
says err "the text of the source was another one"

# The source is changed, or something comes in the way, while the session goes on.
unwritten third
export ADD_TO=unlucky.hip
expect 3 optimize -o third --resume --apply
says out "1 accepted"
says err "was changed meanwhile"
cmp -s first/optimize.json third/optimize.json || fail "no optimize.json"
unwritten fourth
export ADD_TO=unlucky_opt.hip
expect 2 optimize -o fourth --resume
says out "1 accepted"
says err "unlucky_opt.hip is in the way"
says err "the result is in fourth/round-1/kernel-1/candidate-1.hip"
cmp -s first/optimize.json fourth/optimize.json || fail "no optimize.json"
unset ADD_TO
rm unlucky_opt.hip

# A folder that cannot be written is found out before anything is measured.
mkdir fixed
if [ "$(id -u)" != 0 ] || { mount -t tmpfs none fixed 2>/dev/null && trap 'umount "$SCRATCH/fixed"; rm -rf "$SCRATCH"' EXIT; }; then
    cp unlucky.hip fixed
    if [ "$(id -u)" = 0 ]; then mount -o remount,ro fixed; else chmod a-w fixed; fi
    expect 4 optimize --source fixed/unlucky.hip -o fifth
    says err "fixed/unlucky_opt.hip could not be written"
    [ ! -s fifth/journal.jsonl ] || fail "something was begun"
fi

# A journal that may not grow says so itself, where its disk has little left, too.
mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=40m none small 2>/dev/null; then
    trap 'umount "$SCRATCH/small"; umount "$SCRATCH/fixed" 2>/dev/null; rm -rf "$SCRATCH"' EXIT
    unwritten small/sixth
    cp first/journal.jsonl small/sixth
    sed -i '/"kind":"finished"/d' small/sixth/journal.jsonl # only that record is to be written
    python3 - <<'END'
import hashlib, json
lines = open("small/sixth/journal.jsonl").read().splitlines()
body = json.dumps({"data": {"text": "x" * (4 << 20)}, "key": "", "kind": "padding", "sequence": len(lines) + 1})
hashed = hashlib.sha256((json.loads(lines[-1])["sha256"] + body).encode()).hexdigest()
open("small/sixth/journal.jsonl", "a").write('{"sha256":"%s","record":%s}\n' % (hashed, body))
END
    limited() { (ulimit -f 4096; trap '' XFSZ; optimize "$@"); }
    expect 4 limited -o small/sixth --resume
    says err 'journal.jsonl: File too large: allow larger files (ulimit -f), and go on with --resume'
    ! grep -q 'MiB left' err || fail 'a guess before what is known'
fi

# Words that are no UTF-8; a program that is found through $PATH is the same file when it is resumed.
export PATH="$SCRATCH:$PATH"
again() {
    rocm-perf optimize unlucky "${options[@]}" --kernel 'most|odd' --check $': sch\xf6n' --dry-run -o words "$@"
}
expect 1 again
says out "Dry run: 1 candidate built, nothing measured."
says out "none of its loops can be unrolled: line"
says out "not tried: --kernel does not name it"
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/optimize.schema.json" words/optimize.json >/dev/null || fail "JSON"
expect 1 again --resume
says err "this session was finished before"
! grep -Eq "capturing|building|profiling" err || fail "it says that what was done is done again"
printf ' ' >>unlucky
expect 2 again --resume
says err "the build of the program was another one"
echo passed
