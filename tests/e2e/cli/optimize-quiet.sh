# A program that prints nothing, and one that ends with another exit status than 0.
. "$(dirname "$0")/../lib.sh"
example quiet
cp "$SOURCE/tests/e2e/programs/quiet.hip" .
optimize() {
    rocm-perf optimize ./quiet --source quiet.hip --device software --timing detailed --max-iters 1 --max-rounds 1 "$@"
}
valid() {
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/optimize.schema.json" "$1/optimize.json" >/dev/null ||
        fail "$1: JSON"
}

# Nothing would show that another body makes it do something else. The unroller's changes are told with a warning.
expect 2 optimize --allow body -o refused -- 0
says err "prints nothing to stdout"
says err "--check"
expect 1 optimize --dry-run -o silent -- 0
says out "WARNING: the program prints nothing, and there is no --check"
says out " --output silent-2 "
! grep '^Next:.*--dry-run' out || fail "the next command is the same"
valid silent
[ "$(json output_judged_by silent/optimize.json)" = none ] || fail "what is not judged"

# Status 7 is right for this one, and --check has what it writes.
rocm-perf run --device software ./quiet 7 >/dev/null || [ $? = 7 ] || fail "not status 7"
cp result.txt expected.txt
expect 0 optimize -o seven --check 'test $ROCM_PERF_STATUS = 7 && cmp result.txt expected.txt' -- 7
says err "./quiet ends with exit status 7: that is taken for right"
says out "1 accepted"
says out "programs are outside of it (without --writable)"
valid seven
[ "$(json output_judged_by seven/optimize.json)" = check ] || fail "what is judged by --check"
expect 5 optimize -o eight --check 'test $ROCM_PERF_STATUS = 8' -- 7
says err "the command of --check says no"

# What the commands beneath are told.
expect 5 rocm-perf profile --device software --runs 1 ./quiet 7
expect 0 rocm-perf profile --device software --runs 1 --expect-status 7 ./quiet 7
expect 5 rocm-perf profile --device software --runs 1 --expect-status 7 ./quiet 3
says err "exited with status 3 instead of 7"
expect 5 rocm-perf isolate --kernel sums --device software -o one --no-self-check ./quiet 7
expect 0 rocm-perf isolate --kernel sums --device software -o two --no-self-check --expect-status 7 ./quiet 7
expect 2 rocm-perf profile --expect-status 256 ./quiet
says err "--expect-status 256"
echo passed
