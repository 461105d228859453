# doctor --selftest on the software device: it passes; a step that fails ends no other; the file has no names; it ends in
# order. What else can fail is in selftest-fails.sh.
. "$(dirname "$0")/../lib.sh"
. "$SOURCE/tests/e2e/stand_in/selftest.bash"

# All of it that is quick: the verdict first, a line for each step, the file last.
expect 0 selftest none run,collector,clocks
[ "$(head -1 out)" = 'rocm-perf works with the software device on this machine: 4 of 4 checks passed' ] || fail 'verdict'
says out 'SOFTWARE DEVICE'
for step in compile run collector clocks; do grep -q "^  passed   $step " out || fail "line of $step"; done
tail -1 out | grep -q '^rocm-perf-selftest.json ' || fail 'the last line'
schema rocm-perf-selftest.json
[ "$(wc -c <rocm-perf-selftest.json)" -lt 100000 ] || fail 'size'
expect 0 selftest none run --json
cmp out rocm-perf-selftest.json || fail 'what --json prints is not the file'
schema rocm-perf-selftest.json

# A step that fails ends no other.
expect 1 selftest wrong run,collector
says out 'failed   run '
says out 'kernels gave wrong results'
[ "$(of_step status collector)" = passed ] || fail 'the step after one that failed'

# Where hipRTC fails, the compiler compiles.
expect 0 env HIPRTC_COMPILE_OPTIONS_APPEND=--nonsense BREAK=none bin/doctor doctor --selftest --steps compile
says rocm-perf-selftest.json '"compiler": "hipcc"'

# Names of this machine are not in the file, also where a message has them.
expect 1 env STAND_IN=broken BREAK=none PATH="$SCRATCH/tracer:$PATH" bin/doctor doctor --selftest --steps rocprofv3
schema rocm-perf-selftest.json
of_step reason rocprofv3 | grep -q librocprofiler-sdk.so || fail 'the reason'
for name in "$SCRATCH" "$BUILD" "$SOURCE" "$HOME" "$(uname -n)" "${ROCM_PERF_ROCM:-/none/}" /tmp/ /opt/; do
    ! grep -qwF -- "$name" rocm-perf-selftest.json || fail "the file names $name"
done

# Ctrl-C leaves the file with what was done.
rm rocm-perf-selftest.json
BREAK=none background bin/doctor doctor --selftest --steps run,model
doctor=$!
for _ in $(seq 600); do [ -e rocm-perf-selftest.json ] && break; sleep 0.1; done
kill -INT $doctor
code=0; wait $doctor || code=$?
[ $code = 0 ] || { cat out err; fail "exit status $code after Ctrl-C"; }
says out 'not run (interrupted)'
schema rocm-perf-selftest.json
[ "$(json interrupted rocm-perf-selftest.json)" = true ] || fail 'interrupted'
[ "$(of_step status compile)$(of_step status model)" = passednot_run ] || fail 'what was done'

# It does not begin without what it needs.
expect 2 rocm-perf doctor --steps run
expect 2 rocm-perf doctor --selftest --steps run,nonsense
says err "there is no step 'nonsense'"
expect 4 rocm-perf doctor --selftest -o none/file.json
expect 4 env ROCM_PATH="$SCRATCH/none" rocm-perf doctor --selftest
rm bin/rocm-perf-selftest
expect 4 selftest none run
says err 'rocm-perf-selftest is not beside this program'

# Each row of hardware-status.md names steps that there are, or says why none runs it; each step stands there.
expect 2 rocm-perf doctor --selftest --steps nonsense
python3 - "$SOURCE/docs/hardware-status.md" err <<'END' || fail 'hardware-status.md'
import re, sys
steps = set(open(sys.argv[2]).read().split("the steps are ")[1].split(";")[0].split())
named = set()
for line in open(sys.argv[1]):
    cells = line.strip().strip("|").split(" | ")
    if len(cells) != 4 or cells[0].strip() in ("part", "---"):
        continue
    own = set(re.findall(r"`([a-z0-9_]+)`", cells[3])) & steps
    assert own or "o step" in cells[3], line
    named |= own
assert named | {"compile"} == steps, steps - named
END
