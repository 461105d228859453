# doctor: JSON valid, ready where the tests run; without ROCm it says what mends it.
. "$(dirname "$0")/../lib.sh"
expect 0 rocm-perf doctor
says out ready
expect 0 rocm-perf doctor --json
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/doctor.schema.json" out
if [ ! -e /opt/rocm ]; then
    expect 4 env ROCM_PATH= ROCM_PERF_CACHE="$SCRATCH/none" rocm-perf doctor
    says out "; run rocm-perf setup"
    expect 4 env ROCM_PATH= ROCM_PERF_CACHE="$SCRATCH/none" rocm-perf doctor --json
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/doctor.schema.json" out
    expect 4 env ROCM_PATH= ROCM_PERF_CACHE="$SCRATCH/none" rocm-perf profile ./app
    says err "; run rocm-perf setup"
fi
# A ROCM_PATH without a ROCm 7 is refused, not passed over for another one.
for command in doctor "hipcc -c none.hip" "run ./app" "profile ./app"; do
    expect 4 env ROCM_PATH="$SCRATCH/none" rocm-perf $command
    cat err >>out
    says out "ROCM_PATH=$SCRATCH/none"
done

# A folder may have a name of any bytes.
# Where there is a ROCm, setup makes none, and says of options that they are for nothing.
expect 0 env ROCM_PATH="$ROCM_PERF_ROCM" rocm-perf setup --mirror http://127.0.0.1:9/debian
says err 'there is a ROCm, and none is made: --mirror is not used; name a folder with --prefix'
expect 4 env ROCM_PATH="$SCRATCH/$(printf 'x\377y')" rocm-perf doctor --json
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/doctor.schema.json" out
[ "$(json rocm.candidates.0.reason out)" = 'there is no such folder' ] || fail "$(cat out)"

# On a terminal it has its width: only a word that has no room is longer, in a line of its own.
cat >wide.py <<'END'
import fcntl, os, pty, re, struct, subprocess, termios
words = None
for width in (60, 80, 200):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    child = subprocess.Popen(["rocm-perf", "doctor"], stdout=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:
            break
    assert child.wait() == 0
    text = re.sub("\x1b\\[[0-9;]*m", "", shown.decode()).replace("\r\n", "\n")
    for line in text.splitlines():
        assert len(line) <= width or len(line.split()) == 1, (width, line)
    assert words in (None, text.split()), text # nothing is cut
    words = text.split()
assert "doctor" in words
END
python3 wide.py || fail 'the width of a terminal'
