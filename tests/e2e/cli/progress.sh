# How far a command is, on a terminal: one line of its width that changes, without escape codes, and
# nothing of it is left behind when the command ends, also when it is interrupted.
. "$(dirname "$0")/../lib.sh"

terminal() { python3 "$SOURCE/tests/terminal.py" "$@" || { cat shown; fail "on a terminal: $*"; }; }

# Before each run of the program a line that stays: the program writes to the terminal, too.
terminal 60 - rocm-perf profile --no-rocprof --runs 3 sh -c 'sleep 1.5'
grep -qx 'profile: run 1 of 3' shown || fail 'the first run'
grep -qE '^profile: run 2 of 3, [0-9]+ (s|min) left$' shown || fail 'what is left of the runs'
expect 0 rocm-perf profile --no-rocprof --runs 2 true
grep -q 'run 1' err && fail 'progress without a terminal'

# A report of a million dispatches takes seconds; of what takes no time nothing is shown.
"$BUILD/bench/trace-maker" 1000000 1 large.db >/dev/null
terminal 70 '[a-z ]+: [0-9]+ %, [0-9]+ s left' rocm-perf report large.db -o large.html
[ ! -e large.html ] || fail 'a report that was interrupted'
rm large.db
"$BUILD/bench/trace-maker" 100000 1 trace.db >/dev/null
terminal 50 - rocm-perf analyze --json trace.db
cp out shown-out
expect 0 rocm-perf analyze --json trace.db
[ ! -s err ] && cmp out shown-out || fail 'analyze says something else on a terminal'
terminal 60 - rocm-perf analyze "$SOURCE/tests/data/rocpd/vadd-kernel_results.db"
[ ! -s shown ] || fail 'progress of what takes no time'

# Optimize does not know how many candidates there will be: for how long the last line goes on.
echo '__global__ void k() {}' >k.hip
printf '#!/bin/sh\nexec sleep 100000\n' >k
printf '#!/bin/sh\ncp k "$2"\n' >copy.sh
chmod +x k copy.sh
terminal 60 ' 2 s' rocm-perf optimize ./k --source k.hip --build './copy.sh {source} {output}' --device software
says shown 'interrupted by SIGINT'
terminal 60 ' 2 s; [0-9]+ s of --budget left' rocm-perf optimize ./k --source k.hip --build './copy.sh {source} {output}' \
    --device software --budget 100000 -o budget

# Runs of a capture, and blocks of two by turns.
cat >slow.hip <<'END'
#include <hip/hip_runtime.h>
#include <cstdlib>
__global__ void slow(unsigned *out, unsigned n)
{
    unsigned x = threadIdx.x;
    for (unsigned i = 0; i < n; i++)
        x = x * 1664525u + 1013904223u;
    out[threadIdx.x] = x;
}
int main(int, char **argv)
{
    unsigned *out;
    if (hipMalloc(&out, 256) != hipSuccess)
        return 1;
    slow<<<1, 64>>>(out, (unsigned)atol(argv[1]));
    return hipDeviceSynchronize() != hipSuccess;
}
END
rocm-perf hipcc -O1 slow.hip -o slow || fail 'cannot compile'
# So long that a run takes 1.5 s: on some machines that is twenty times as much work as on others.
from=${EPOCHREALTIME/./}
expect 0 rocm-perf run --device software ./slow 50000000
rounds=$((50000000 * 1500000 / (${EPOCHREALTIME/./} - from)))
[ "$rounds" -lt 4000000000 ] || rounds=4000000000
terminal 60 - rocm-perf isolate --kernel slow --device software -o cap --no-self-check ./slow "$rounds"
grep -qx 'isolate: the program runs to its end' shown || fail 'isolate'
terminal 60 - rocm-perf isolate --kernel slow --longest --device software -o longest ./slow "$rounds"
says shown 'isolate: run 1 of 2, which dispatch is the longest'
grep -qE '^isolate: run 2 of 2(, [0-9]+ s left)?$' shown || fail 'the second run of isolate'
tr '\r' '\n' <shown | grep -qE '^the capture is replayed: run [1-3] of 3, [0-9]+ s( left)?$' || fail 'the self-check of isolate'
terminal 60 'run [0-9]+ of 1000000, [0-9.]+ (s|min|h) left' \
    rocm-perf replay full-vm --capture-dir cap --iterations 1000000
says shown 'rocm-perf: interrupted by SIGINT'
terminal 40 '(what the kernels give is checked|other inputs are tried|A beside itself|A and B by turns)' \
    rocm-perf replay compare cap/kernel.hsaco cap/kernel.hsaco --capture-dir cap --blocks 200
terminal 60 - rocm-perf replay full-vm --capture-dir cap --json
