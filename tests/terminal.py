#!/usr/bin/env python3
"""usage: tests/terminal.py WIDTH REGEX COMMAND...

Runs a command whose standard error is a terminal of that width. It is interrupted as soon as REGEX is shown,
however long that takes; with "-" it runs to its end. What was shown is in ./shown, with each place where a line
was begun anew as "\\r"; standard output in ./out. Fails when the command ends otherwise, writes escape codes, or
wider than the terminal, or leaves behind a line that changes.
"""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios

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
open("shown", "w", newline="").write(text)
assert seen, (wanted, text)
assert status in ((0,) if wanted == "-" else (130, -signal.SIGINT)), (status, text)
assert "\x1b" not in text, text
for line in text.split("\n"):
    *gone, last = line.split("\r")
    assert all(len(part) < width for part in gone), gone
    if gone:  # a line that stays takes the place of one that was cleared
        assert gone[-1].strip() == "" and (last == "" or last.startswith("rocm-perf: ")), line
