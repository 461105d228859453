# What a terminal shows: as wide as it is, coloured unless somebody does not want that.
cp -r "$SOURCE/tests/data/capture/chase" .
cat >terminal.py <<'END'
import fcntl, os, pty, struct, subprocess, sys, termios
ours, theirs = pty.openpty()
fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
child = subprocess.Popen(sys.argv[2:], stdout=theirs)
os.close(theirs)
shown = b""
while True:
    try:
        shown += os.read(ours, 65536)
    except OSError:
        break
assert child.wait() == 0
sys.stdout.write(shown.decode().replace("\r\n", "\n").replace("\x1b", "ESC"))
END
unset NO_COLOR
export TERM=xterm
python3 terminal.py 60 rocm-perf isolate inspect chase
python3 terminal.py 80 rocm-perf isolate inspect chase | tail -n 10
NO_COLOR= python3 terminal.py 50 rocm-perf isolate --list
NO_COLOR= python3 terminal.py 200 rocm-perf isolate verify chase
NO_COLOR=0 python3 terminal.py 200 rocm-perf isolate verify chase
TERM=dumb python3 terminal.py 200 rocm-perf isolate verify chase
rocm-perf isolate verify chase
