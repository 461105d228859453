# How sessions end: what was accepted is there whatever fails later, and the end says what it was.
. "$(dirname "$0")/../lib.sh"
example unlucky
cp "$SOURCE/tests/e2e/programs/unlucky.hip" .
cp unlucky.hip before.hip
optimize() {
    rocm-perf optimize ./unlucky --source unlucky.hip --device software --timing detailed --kernel 'most|next' --max-iters 1 \
        --geometries 1 "$@"
}
# ends FOLDER WORD ACCEPTED: optimize.json is valid, and says so; the source is as it was.
ends() {
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/optimize.schema.json" "$1/optimize.json" >/dev/null ||
        fail "$1: JSON"
    [ "$(json ended_by "$1/optimize.json")" = "$2" ] || fail "$1: ended by $(json ended_by "$1/optimize.json")"
    [ "$(grep -c '#pragma unroll' unlucky_opt.hip)" = "$3" ] || fail "$1: not $3 changes"
    cmp unlucky.hip before.hip || fail "$1: the source was changed"
}

# A name that no kernel has decides nothing: the folder can be used again.
expect 2 optimize --kernel nobody -o first
says err "--kernel nobody finds none of the program's kernels: most(float const*, float*, int), next("
# So does a session that ends before it has done anything: the next one, another, begins anew there.
ROCM_PERF_LLM_BASE_URL= ROCM_PERF_LLM_MODEL= XDG_CONFIG_HOME=$PWD/none expect 2 optimize --proposer llm -o first
says err "no model server is configured"
[ "$(wc -l <first/journal.jsonl)" = 1 ] || fail "not one record"

# The first kernel cannot be captured: the second is tried and accepted.
export FAIL_IF=first/round-1/kernel-1 FAIL_UNLESS=first/round-1/kernel-2
expect 0 optimize --max-rounds 1 -o first
says err "begins anew"
says out "not tried: its dispatches cannot be captured"
says out "no luck"
says out "1 accepted: all kernels together are"
says out "--max-rounds ended the search"
says out "upper bound for the program"
ends first max-rounds 1
says out "not compared with other inputs of these kinds"
json accepted.0.not_tried.0.reason first/optimize.json >/dev/null || fail "nothing is said of other inputs"
[ "$(json rounds.0.kernels.0.failed first/optimize.json)" = true ] || fail "it has not failed"
[ "$(json rounds.0.kernels.1.failed first/optimize.json)" = false ] || fail "it has failed"

# Ctrl-C in the second round: what was accepted is there, and the last words say how to go on.
export FAIL_IF= FAIL_UNLESS=
SIGNAL=INT python3 "$SOURCE/tests/e2e/kill_behind.py" second/journal.jsonl application rocm-perf optimize ./unlucky \
    --source unlucky.hip --device software --timing detailed --kernel 'most|next' --max-iters 1 --geometries 1 --max-rounds 2 \
    -o second >out 2>err </dev/null || { cat out err; fail "not interrupted"; }
says out "1 accepted"
says err "interrupted by SIGINT"
says err "1 change tried, 1 accepted so far: --resume goes on"
ends second interrupted 1
[ ! -e second/tmp ] || fail "files of compilers"
mkdir second/tmp && touch second/tmp/s-gfx942.o # as of a session that was killed
cp -r second third
# What was measured by another model of time, or on another GPU, is none of what is measured now.
others() { optimize --max-rounds 2 -o third --resume "$@"; }
[ "$(grep -c '"kind":"attempt"' third/journal.jsonl)" -ge 1 ] || fail "no attempt"
ROCM_PERF_DEVICE_TIMING=counts expect 2 rocm-perf optimize ./unlucky --source unlucky.hip --device software \
    --kernel 'most|next' --max-iters 1 --geometries 1 --max-rounds 2 -o third --resume
says err "the model of time (--timing, ROCM_PERF_DEVICE_TIMING) was \"detailed (version "
says err "is \"counts (version "
expect 2 others --device software:mi325x
says err "the GPU (--device, ROCM_PERF_DEVICE) was \"AMD Instinct MI300X (software device, gfx942, 304 CUs)\", is "
# Then none can be captured, and the result not be measured: each kernel has its reason, and all is written.
export FAIL_IF=second/round-2/kernel-1
expect 5 optimize --max-rounds 2 -o second --resume
says out "1 accepted"
says err "the program before and after all changes"
ends second error 1
for kernel in 0 1; do
    [ "$(json rounds.1.kernels.$kernel.failed second/optimize.json)" = true ] || fail "kernel $kernel has not failed"
done
# When they can be, --resume goes on.
export FAIL_IF=
expect 0 optimize --max-rounds 2 -o second --resume
says out "2 accepted"
ends second max-rounds 2
[ ! -e second/tmp ] || fail "files of compilers"

# What ends the session after an acceptance: all is written, then it is told.
rm -rf third/round-2 third/optimize.json unlucky_opt.*
touch third/round-2
expect 4 optimize --max-rounds 2 -o third --resume --apply
says out "1 accepted"
says err "round-2"
ends third error 1
[ "$(json error third/optimize.json)" != null ] || fail "no error"
[ ! -e unlucky.hip.orig ] || fail "applied before the end"

# Where nothing was accepted, a failure is no verdict.
export FAIL_IF=fourth/round-1/kernel-1
expect 5 optimize --max-rounds 1 -o fourth
says err "no luck"
echo passed
