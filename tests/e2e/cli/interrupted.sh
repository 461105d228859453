# A signal that ends the program keeps what was recorded, and is a result when the program ends in order.
. "$(dirname "$0")/../lib.sh"
example serving
schema() { expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/$1.schema.json" "$2"; }

# stopped SIGNAL STATUS COMMAND...: sends the signal to rocm-perf alone when the program serves.
stopped() {
    local signal=$1 wanted=$2 status=0
    shift 2
    background "$@" </dev/null
    local profiler=$!
    until grep -qs serving out err || ! kill -0 $profiler 2>/dev/null; do sleep 0.1; done
    kill -"$signal" $profiler
    wait $profiler || status=$?
    [ $status = "$wanted" ] || { cat out err >&2; fail "exit status $status instead of $wanted after SIG$signal: $*"; }
}
# as_served RESULT: its launches are those that the program counted.
as_served() {
    local served
    served=$(sed -nE 's/^served ([0-9]+), .*/\1/p' out)
    [ "$(json kernels.0.calls "$1/profile.json")" = "$served" ] || fail "of $served launches $(json kernels.0.calls "$1/profile.json") were kept"
}

profile() { rocm-perf profile --device software "$@"; }
for signal in INT TERM; do
    stopped $signal 0 rocm-perf profile --device software -o D ./serving
    says err "interrupted by SIG$signal: the result is what ran until then, of 1 run"
    as_served D
    [ "$(json provenance.interrupted D/profile.json)" = $signal ] || fail 'the result does not say what ended it'
    [ "$(json provenance.complete D/profile.json)" = true ] || fail 'a program that ended in order is no complete trace'
    cp out said
    schema profile D/profile.json
    cp said out
    ls -A D | grep -q partial && fail 'work in progress is left behind'
done
# To all of the foreground group, as a terminal does: the program gets one signal, not two.
cat >typed.py <<'END'
import os, pty, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
said, typed = b"", False
while True:
    try:
        part = os.read(fd, 4096)
    except OSError:
        break
    said += part
    if b"serving" in said and not typed:
        typed = True
        os.write(fd, b"\x03")
sys.stdout.buffer.write(said)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
expect 0 python3 typed.py rocm-perf profile --device software --runs 1 -o typed ./serving count
grep -q 'served [0-9]*, signals 1' out || { cat out; fail 'Ctrl-C came twice'; }
# timeout has a group of its own, which the terminal does not reach.
# It passes a signal on to its child and to its group.
expect 0 python3 typed.py rocm-perf profile --device software --runs 1 -o typed timeout 60 ./serving count
grep -q 'served [0-9]*, signals [12]' out || { cat out; fail 'Ctrl-C did not come'; }

# A program that dies of it: its profile is shown, and is no result. The result before stays.
before=$(sha256sum D/profile.json)
stopped INT 5 rocm-perf profile --device software -o D ./serving leave
says out 'serve'
says err 'was killed by signal 2 (Interrupt) when it was interrupted; its profile until then is in D/failed'
[ "$(sha256sum D/profile.json)" = "$before" ] || fail 'the result before is gone'
[ "$(json provenance.exit_status D/failed/profile.json)" = 130 ] || fail 'exit status of a program that died'
[ "$(json kernels.0.calls D/failed/profile.json)" -ge 3 ] || fail 'what was recorded is not kept'
expect 0 rocm-perf analyze D/failed
expect 0 rocm-perf report D/failed

# In a repeat: the base run is a result.
background rocm-perf profile --device software -o repeats -- /bin/sh -c \
    'if [ -e once ]; then echo serving >&2; exec ./serving leave; else touch once; ./serving >first & until grep -qs serving first; do sleep 0.1; done; kill $!; wait; fi' </dev/null
profiler=$!
until grep -qs serving err || ! kill -0 $profiler 2>/dev/null; do sleep 0.1; done
sleep 0.5
kill -INT $profiler
wait $profiler || { cat out err >&2; fail 'interrupted in the second run'; }
says err 'interrupted by SIGINT: the result is of the first 1 of 3 runs'
[ "$(json stability.runs repeats/profile.json)" = 1 ] || fail 'runs of the result'
[ "$(json provenance.interrupted repeats/profile.json)" = null ] || fail 'the base run was not interrupted'
[ ! -e repeats/repeats/run-2_results.db ] || fail 'the repeat that was cut short is kept'

# Nothing to keep: 130, and no folder.
background rocm-perf profile --device software -o none /bin/sh -c 'echo serving; exec sleep 60' </dev/null
profiler=$!
until grep -qs serving out; do sleep 0.1; done
status=0
kill -INT $profiler
wait $profiler || status=$?
[ $status = 130 ] || fail "nothing to keep: exit status $status"
says err 'before a kernel of /bin/sh came to its end'
[ ! -e none ] || fail 'a folder of nothing'
# kill -9: what was recorded is kept by whoever looks at the folder next, and did not keep the program from ending.
stopped KILL 137 rocm-perf profile --device software -o killed ./serving
expect 0 rocm-perf analyze killed
says err 'a rocm-perf was killed before it had made its result of killed: what it had recorded is now in killed/failed'
python3 -c 'import sqlite3
print(*sqlite3.connect("killed/failed/trace_results.db").execute("SELECT command FROM processes").fetchone())' >command
[ "$(cat command)" = ./serving ] || fail "whose trace: $(cat command)"
stopped KILL 137 rocm-perf profile --device software -o killed ./serving
expect 0 profile --runs 1 -o killed /bin/sh -c './serving & sleep 0.5; kill $!; wait'
says err 'a rocm-perf was killed before'
[ -f killed/failed/trace_results.db ] || fail 'what was recorded before the kill'
ls -A killed | grep -q partial && fail 'work of a killed profile is left behind'

# Further runs are left out; what is there of the base run is shown.
stopped INT 0 rocm-perf profile --device software --deep-analysis -o deep ./serving
says out 'No thread trace: it takes a further run, and this one was interrupted'
[ -f deep/analysis.json ] || fail 'no ranking of what ran'
