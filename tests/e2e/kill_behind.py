"""kill_behind.py JOURNAL KIND COMMAND...: runs the command, and kills it with SIGKILL as soon as the journal has one
more record of that kind than when it began. Exit status 0: killed; 1: it ended by itself before, with what is printed.
With SIGNAL=INT in the environment it gets SIGINT, and is to end with status 130."""
import os
import signal
import subprocess
import sys
import time

journal, kind, command = sys.argv[1], sys.argv[2], sys.argv[3:]
# A record's keys are in the order of the alphabet; within texts quotation marks have a backslash.
mark = b'"kind":"' + kind.encode() + b'","sequence":'


def records():
    try:
        with open(journal, "rb") as file:
            return file.read().count(mark)
    except FileNotFoundError:
        return 0


def size():
    try:
        return os.stat(journal).st_size
    except FileNotFoundError:
        return 0


sent, wanted = (signal.SIGINT, 130) if os.environ.get("SIGNAL") == "INT" else (signal.SIGKILL, -signal.SIGKILL)
before, read_until = records(), size()
process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
while process.poll() is None:
    if size() != read_until:
        read_until = size()
        if records() > before:
            process.send_signal(sent)
            break
    time.sleep(0.0005)
status = process.wait()
if status != wanted:
    print(f"no record {kind} before it ended with status {status}")
sys.exit(0 if status == wanted else 1)
