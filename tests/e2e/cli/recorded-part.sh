# A part of a run is recorded: by ROCTx, by time, by signals. What was launched elsewhere is in no number.
. "$(dirname "$0")/../lib.sh"
example serving
example vector_add
cat >roctx.c <<'END'
#include <stdint.h>
#include <stdio.h>
static int calls;
int roctxProfilerPause(uint64_t tid) { (void)tid; calls++; return 0; }
int roctxProfilerResume(uint64_t tid) { (void)tid; calls++; return 0; }
int roctxRangePushA(const char *message) { (void)message; return calls++; }
int roctxRangePop(void) { return calls++; }
uint64_t roctxRangeStartA(const char *message) { (void)message; return (uint64_t)calls++; }
void roctxRangeStop(uint64_t id) { (void)id; calls++; }
__attribute__((destructor)) static void end(void) { fprintf(stderr, "roctx was called %d times\n", calls); }
END
cc -shared -fPIC -o libroctx64.so roctx.c
rocm-perf hipcc -cuid=marked "$SOURCE/tests/e2e/programs/marked.hip" -L. -lroctx64 "-Wl,-rpath,$PWD" -o marked
calls_of() {
    python3 - "$1/profile.json" <<'END'
import json, sys
profile = json.load(open(sys.argv[1]))
calls = {k["name"].split("(")[0]: k["calls"] for k in profile["kernels"]}
print(calls.get("forward", 0), calls.get("backward", 0), profile["provenance"]["unrecorded_dispatches"])
END
}
# part WANTED OPTION...: forward and backward kernels that are recorded, and all launches that are not.
part() {
    local wanted=$1
    shift
    expect 0 rocm-perf profile --device software --runs 1 -o part "$@" ./marked
    [ "$(calls_of part)" = "$wanted" ] || fail "$*: $(calls_of part) instead of $wanted"
    says err 'roctx was called 32 times'
}
part '5 5 0'
part '1 1 12' --selected-regions
says out 'Recorded      3 of 15 launches'
part '1 1 12' --roctx-range step-2
part '5 5 0' --roctx-range 'step-*'
part '0 5 10' --roctx-range inner
part '0 5 10' --roctx-range backward
expect 0 rocm-perf profile --device software --runs 1 -o part --roctx-range many ./marked 1000
[ "$(calls_of part)" = '1 0 15' ] || fail "the last of 1000 open ranges: $(calls_of part)"
expect 0 rocm-perf profile --device software --runs 1 --focus-critical --roctx-range step-2 -o part ./marked
expect 0 rocm-perf analyze part
expect 3 rocm-perf profile --device software --runs 1 -o none --roctx-range no-such ./marked
says err "launched 15 kernels, none of them recorded: it began no ROCTx range that --roctx-range 'no-such' names"
says err 'its ranges are step-1|inner|backward|step-2|step-3|step-4|step-5'
expect 3 rocm-perf profile --device software --runs 1 -o none --roctx-range no-such ./vector_add
says err 'none was seen: see docs/profile.md'
expect 3 rocm-perf profile --device software --runs 1 -o none --delay 60 ./vector_add
says err 'none of them while it was recorded: see --delay'
! grep -q 'see --delay ' err || fail 'an option that was not given'
# A range that a thread has left open ends with the thread.
expect 0 rocm-perf profile --device software --runs 1 -o part --roctx-range left ./marked left
[ "$(calls_of part)" = '1 0 1' ] || fail "a range of a thread that has ended: $(calls_of part)"
# The same region in each run: repeats are equal.
expect 0 rocm-perf profile --device software --selected-regions -o part ./marked
[ "$(json stability.runs part/profile.json)" = 3 ] && [ "$(json run_differences part/profile.json)" = '[]' ] || fail 'three runs of a region'

# By time: the program is ended as by Ctrl-C, its profile is a result however it ends, and its trace is whole.
for how in end leave; do
    expect 0 rocm-perf profile --device software --delay 0.5 --duration 1 -o timed ./serving $how
    [ "$(json stability.runs timed/profile.json)" = 1 ] || fail 'parts by time are of one run'
    [ "$(json provenance.complete timed/profile.json)" = true ] || fail "$how: the trace of a part that is over is whole"
    [ "$(json kernels.0.calls timed/profile.json)" -ge 1 ] || fail 'nothing was recorded'
    ! grep -q 'exit status' out || { cat out; fail 'a warning about an end that was asked for'; }
done
expect 0 rocm-perf profile --device software --delay 0.5 --duration 1 -o timed ./serving
says out 'Next: rocm-perf profile --why --device software --delay 0.5 --duration 1 ./serving'
expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" timed/profile.json

# Who records longer is not slower: sums of such parts are not compared where the launches differ in number.
[ "$(json provenance.recorded_part timed/profile.json)" = time ] || fail 'what a part was cut out by'
expect 0 rocm-perf profile --device software --duration 60 --runs 1 -o whole ./marked
grep -q '"recorded_part": null' whole/profile.json || fail 'a limit that was not reached cuts nothing'
expect 0 rocm-perf profile --device software --duration 2 -o longer ./serving
expect 0 rocm-perf compare timed longer
says out 'a side is a part of a run that time or a signal ended'
says out 'PART OF A RUN'
cp out said
expect 1 rocm-perf compare longer timed --gate 'runtime<=1.02'
expect 0 rocm-perf compare timed timed
! grep -q 'part of a run that time' out || fail 'equal launches compare'
expect 0 rocm-perf analyze longer
says err 'outside of the part that was recorded'
expect 0 rocm-perf history add --db series.db longer timed
says err 'a part of a run that time or a signal ended: it is kept, and not checked'
expect 3 rocm-perf history check --db series.db
says err 'no complete result'

# The table of all ranks counts those of each.
for rank in 0 1; do
    expect 0 env RANK=$rank WORLD_SIZE=2 rocm-perf profile --device software --duration 2 --json -o ranks ./serving
done
cp out all.json
[ "$(json provenance.unrecorded_dispatches all.json)" = $(($(json provenance.unrecorded_dispatches ranks/rank-0/profile.json) + $(json provenance.unrecorded_dispatches ranks/rank-1/profile.json))) ] &&
    [ "$(json provenance.unrecorded_dispatches all.json)" != 0 ] || fail 'launches of ranks that were not recorded'

# By signals, of all processes of the program.
background rocm-perf profile --device software --start-paused -o switched -- /bin/sh -c 'trap : INT; ./serving & ./serving; wait; exit 0' </dev/null
profiler=$!
until [ "$(grep -cs serving out)" = 2 ]; do kill -0 $profiler || fail 'it has ended'; sleep 0.1; done
kill -USR1 $profiler
sleep 1
kill -USR2 $profiler
sleep 0.5
kill -INT $profiler
wait $profiler || { cat err; fail 'switched by signals'; }
python3 - switched/profile.json $(sed -nE 's/^served ([0-9]+),.*/\1/p' out) <<'END' || { cat out; fail 'launches of two processes'; }
import json, sys
profile = json.load(open(sys.argv[1]))
recorded, served = profile["kernels"][0]["calls"], sum(map(int, sys.argv[2:]))
assert recorded + profile["provenance"]["unrecorded_dispatches"] == served, (recorded, served)
assert 0 < recorded < served and len(profile["processes"]) == 2 and all(p["dispatches"] for p in profile["processes"])
END

# Where nothing can be switched the signals do no harm, and are answered.
ignored() {
    local wanted=$1 status=0
    shift
    background "$@" </dev/null
    profiler=$!
    until grep -qs serving out; do kill -0 $profiler || fail 'it has ended'; sleep 0.1; done
    kill -USR1 $profiler
    kill -USR2 $profiler
    sleep 0.3
    kill -INT $profiler
    wait $profiler || status=$?
    [ $status = $wanted ] || { cat err; fail "exit status $status after a signal that switches nothing: $*"; }
}
ignored 130 rocm-perf profile --device software --no-rocprof --runs 1 ./serving
says err '--no-rocprof records nothing: leave it out'

# rocprofv3: its own options; what it has not is refused, with what does it.
export STAND_IN_LOG=$PWD/calls RP_BUILD=$BUILD PATH=$SOURCE/tests/e2e/stand_in:$PATH
traced() { rocm-perf profile --device software --tracer rocprofv3 "$@"; }
expect 0 traced --selected-regions --runs 1 -o region ./marked
says calls '"--selected-regions"'
expect 0 traced --delay 0.5 --duration 1 -o period ./serving
says calls '"--collection-period", "0.500000:1.000000:1"'
expect 2 traced --start-paused ./serving
says err 'use --tracer builtin'
ignored 0 rocm-perf profile --device software --tracer rocprofv3 --runs 1 -o period ./serving
says err 'do not switch recording of rocprofv3: use --tracer builtin'
expect 2 traced --roctx-range step-2 ./marked
says err 'use --tracer builtin'
expect 2 rocm-perf profile --no-rocprof --duration 1 ./serving
says err 'leave out'
