# The shortest session of the optimizer that measures something, under the sanitizers: one candidate,
# which is slower. What sessions accept, and kills, is in optimize.sh, with the plain build.
. "$(dirname "$0")/../lib.sh"
example unrolled
cp "$SOURCE/tests/e2e/programs/unrolled.hip" .
optimize() {
    rocm-perf optimize ./unrolled --source unrolled.hip --device software --timing detailed --max-iters 1 --max-rounds 1 \
        -o session "$@" -- 3
}

expect 1 optimize
says out "Nothing was worth accepting."
says out "slower"
# A session keeps its options, so one with more of them has another folder.
says out "Next: rocm-perf optimize --max-iters 2 --output session-2 ./unrolled --source unrolled.hip --device software --timing detailed --max-rounds 1 -- 3"
cp session/optimize.json first.json

# Nothing is left to do: all is read from the journal.
expect 1 optimize --resume
! grep -q capturing err || fail "it says that what was captured is captured again"
cmp first.json session/optimize.json || fail "not the same when nothing is left"
echo passed
