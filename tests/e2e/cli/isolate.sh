# Captures of programs that know their own memory: every buffer, before and after the dispatch. Those of the other kinds
# of memory are in isolate-memories.sh.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../memories.sh"

captures arith 'target_scale\('
captures histogram target_histogram 3
[ "$(json dispatch.group_bytes cap/dispatch.json)" = 1024 ] || fail "dynamic LDS is not in the packet"
captures streams target_scale 2
captures print target_print

# Nothing of the run is left but the capture, and the pieces of it are told.
[ ! -e cap.partial-* ] || fail "something is left"
expect 0 rocm-perf isolate inspect --json cap
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/capture.schema.json" out >/dev/null || fail "inspect --json"
expect 0 rocm-perf isolate --list
says out "cap  target_print(unsigned int*)  dispatch 1"

# What is not there any more, and what nobody has access to, is told and not looked at.
rm -rf cap
expect 0 rocm-perf isolate --kernel target_scale --device software -o cap ./memories gone .
python3 - out cap/coverage.json <<'END' || { cat out cap/coverage.json; fail "what has gone is not told"; }
import json, sys
said = dict(line.split() for line in open(sys.argv[1]) if line.startswith(("registered ", "mapped ")))
coverage = json.load(open(sys.argv[2]))
gone = [(int(r["base"], 16), r["bytes"]) for r in coverage["unmapped"] if r["class"] == "locked"]
assert gone == [(int(said["registered"], 16) + (256 << 10), 512 << 10)]
assert [(r["base"], r["reason"]) for r in coverage["refused"]] == \
    [(said["mapped"], "it is mapped, and no agent has access to it")]
END
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/capture_coverage.schema.json" cap/coverage.json >/dev/null ||
    fail "coverage.json is not as its schema says"

# Declined, and the program goes on: its kernel or one elsewhere waits for the thread that is held.
rm -rf cap
export ROCM_PERF_CAPTURE_PATIENCE_MS=4000 # more than a busy machine needs
expect 1 rocm-perf isolate --kernel target_wait --device software -o cap ./memories waits .
says out "result 6"
says err "not captured: the kernel does nothing but wait"
expect 1 rocm-perf isolate --kernel target_scale --device software -o cap ./memories busy .
says out "went on"
says err "not captured: other queues or copies do not come to rest"
unset ROCM_PERF_CAPTURE_PATIENCE_MS

# Of two kernels that wait for each other the first one is declined, not when the patience for kernels that work (10
# minutes) is out, and it is said before how long that may take. One that waits for a thread is captured, and its
# replay, in which there is no such thread, comes to an end, too.
example wait_streams
expect 1 timeout 300 rocm-perf isolate --kernel meet --device software -o cap ./wait_streams
says out PASS
says err "dispatch 1 has been running for 5 s"
says err "not captured: the kernel does nothing but wait, perhaps for another kernel or GPU"
expect 0 timeout 300 rocm-perf isolate --kernel meet --device software -o cap ./wait_streams host
says out PASS
says out "not replayable: the kernel does nothing but wait"
expect 1 timeout 300 rocm-perf replay full-vm --capture-dir cap
says err "the kernel does nothing but wait"
rm -rf cap

# A kernel that faults: at once, not when the patience for it (10 minutes) is out.
expect 5 timeout 400 rocm-perf isolate --kernel target_fault --device software -o cap ./memories fault .
says out "error: hipErrorIllegalAddress"
says err "not captured: the kernel faulted: the runtime reports an error of its queue"
[ ! -e cap ] || fail "a capture that was declined"

# A signal after the program has ended, while its memory is packed: nothing is left, and it is said; or
# it came too late, and the capture is whole.
rocm-perf hipcc "$SOURCE/bench/isolate-cost.hip" -o noise
for signal in TERM HUP INT; do
    for delay in 0 0.03 0.1; do
        rm -rf cap
        status=0
        rocm-perf isolate --kernel change --device software -o cap sh -c \
            "./noise 64; (sleep $delay; kill -$signal \$PPID; kill -$signal \$PPID) &" >out 2>err </dev/null || status=$?
        case $status in
            0) expect 0 rocm-perf isolate verify cap ;;
            130) says err "interrupted by SIG$signal"; [ ! -e cap ] || expect 0 rocm-perf isolate verify cap ;;
            *) cat err; fail "SIG$signal after the program: exit status $status" ;;
        esac
        ls -d cap.partial-* 2>/dev/null && fail "SIG$signal after the program: half a capture is left"
        echo "SIG$signal $delay s after the program: $status"
    done
done
rm -rf cap

# What does not come.
expect 1 rocm-perf isolate --kernel nothing_like_it --device software -o cap ./memories arith .
says err "no kernel name matches nothing_like_it"
says err "target_scale(unsigned int const*, unsigned int*, unsigned int, unsigned int)"
expect 1 rocm-perf isolate --kernel target_scale --dispatch 2 --device software -o cap ./memories arith .
says err "fewer than 2 dispatches"

expect 1 rocm-perf isolate --kernel x --device software -o cap true
says err "did not use the GPU"
expect 5 rocm-perf isolate --kernel x --device software -o cap false
expect 2 rocm-perf isolate --kernel x --device software -o cap ./no-such-program
[ ! -e cap ] || fail "a capture of nothing"

# Several processes come to the dispatch at once: one of them is captured, whole, and all go on. The folder
# may be called anything.
expect 0 rocm-perf isolate --kernel target_scale --device software -o 'cap [1]*' \
    sh -c './memories arith . & ./memories arith . & ./memories arith . & wait'
[ "$(grep -c "^after " out)" = 6 ] || { cat out; fail "not all processes went on"; }
expect 0 rocm-perf isolate verify 'cap [1]*'
says out "is sound"

# A program that is killed in the middle leaves no capture; a full disk neither, and it goes on.
mkdir full
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=256k none full 2>/dev/null; then
    expect 4 rocm-perf isolate --kernel target_scale --device software -o full/cap ./memories arith .
    says out "after"
    says err "full/cap"
    [ -z "$(ls full)" ] || { ls -R full; umount full; fail "half a capture on a full disk"; }
    umount full
fi
mkdir cap
expect 2 rocm-perf isolate --kernel target_scale --device software -o cap ./memories arith .
says err "cap exists already"
echo passed
