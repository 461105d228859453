# How far a command is, on a terminal: one line of its width that changes, without escape codes, and
# nothing of it is left behind when the command ends, also when it is interrupted.
. "$(dirname "$0")/../lib.sh"

# terminal.py WIDTH REGEX COMMAND...: standard error is a terminal. Interrupted as soon as REGEX is
# shown, however long that takes; "-": runs to its end. What was shown is in "shown".
cat >terminal.py <<'END'
import fcntl, os, pty, re, signal, struct, subprocess, sys, termios
width, wanted = int(sys.argv[1]), sys.argv[2]
ours, theirs = pty.openpty()
fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
child = subprocess.Popen(sys.argv[3:], stdin=subprocess.DEVNULL, stdout=open("out", "w"), stderr=theirs)
os.close(theirs)
shown, seen = b"", wanted == "-"
while True:
    try:
        some = os.read(ours, 65536)
    except OSError:
        break
    if not some:
        break
    shown += some
    if not seen and re.search(wanted.encode(), shown):
        seen = True
        child.send_signal(signal.SIGINT)
status = child.wait()
text = shown.decode().replace("\r\n", "\n")
open("shown", "w").write(text)
assert seen, (wanted, text)
assert status == (0 if wanted == "-" else 130), (status, text)
assert "\x1b" not in text, text
for line in text.split("\n"):
    *gone, last = line.split("\r")
    assert all(len(part) < width for part in gone), gone
    if gone: # a line that stays takes the place of one that was cleared
        assert gone[-1].strip() == "" and (last == "" or last.startswith("rocm-perf: ")), line
END
terminal() { python3 terminal.py "$@" || { cat shown; fail "on a terminal: $*"; }; }

# Before each run of the program a line that stays: the program writes to the terminal, too.
terminal 60 - rocm-perf profile --no-rocprof --runs 3 sh -c 'sleep 1.5'
grep -qx 'profile: run 1 of 3' shown || fail 'the first run'
grep -qE '^profile: run 2 of 3, [0-9]+ (s|min) left$' shown || fail 'what is left of the runs'
expect 0 rocm-perf profile --no-rocprof --runs 2 true
grep -q 'run 1' err && fail 'progress without a terminal'

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
__global__ void slow(unsigned *out, unsigned n)
{
    unsigned x = threadIdx.x;
    for (unsigned i = 0; i < n; i++)
        x = x * 1664525u + 1013904223u;
    out[threadIdx.x] = x;
}
int main()
{
    unsigned *out;
    if (hipMalloc(&out, 256) != hipSuccess)
        return 1;
    slow<<<1, 64>>>(out, 20000000);
    return hipDeviceSynchronize() != hipSuccess;
}
END
rocm-perf hipcc -O1 slow.hip -o slow || fail 'cannot compile'
expect 0 rocm-perf isolate --kernel slow --device software -o cap --no-self-check ./slow
terminal 60 'run [0-9]+ of 1000000, [0-9.]+ (s|min|h) left' \
    rocm-perf replay full-vm --capture-dir cap --iterations 1000000
says shown 'rocm-perf: interrupted by SIGINT'
terminal 40 '(what the kernels give is checked|other inputs are tried|A beside itself|A and B by turns)' \
    rocm-perf replay compare cap/kernel.hsaco cap/kernel.hsaco --capture-dir cap --blocks 200
terminal 60 - rocm-perf replay full-vm --capture-dir cap --json
