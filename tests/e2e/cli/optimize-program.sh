# How the user's program is run: what it reads, how long it may take, and what is said when it fails.
# Programs are scripts, and their builds are copies: no kernel comes into it.
. "$(dirname "$0")/../lib.sh"
export ROCM_PERF_DEVICE_TIMING=detailed # counts compare as intervals
cat >copy.sh <<'END'
#!/bin/sh
cp k "$2"
END
echo '__global__ void k() {}' >k.hip
program() { cat >k; chmod +x k copy.sh; rm -rf optimize_result; }
optimize() {
    rocm-perf optimize ./k --source k.hip --build './copy.sh {source} {output}' --device software "$@"
}

# At a terminal a program that reads it is not stopped for ever: there is nothing to read.
program <<'END'
#!/bin/sh
read line || line=nothing
echo "read: $line" >&2
kill -SEGV $$
END
cat >terminal.py <<'END'
import os, pty, select, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
said, end = b"", time.monotonic() + 300
while True:
    assert time.monotonic() < end, b"it hangs: " + said
    if not select.select([terminal], [], [], 1)[0]:
        continue
    try:
        part = os.read(terminal, 4096)
    except OSError:  # its end
        break
    if not part:
        break
    said += part
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
assert code == 5 and b"read: nothing" in said, (code, said)
END
expect 0 python3 terminal.py rocm-perf optimize ./k --source k.hip --build './copy.sh {source} {output}' \
    --device software

# How it failed, and what it said last.
program <<'END'
#!/bin/sh
echo "has device code for gfx942 only" >&2
kill -SEGV $$
END
expect 5 optimize
says err "./k as it is: it was ended by SIGSEGV; its stderr ends with: has device code for gfx942 only"

# The same of --check, and a command that is not there.
program <<'END'
#!/bin/sh
echo 12 apples
END
expect 5 optimize --check no-such-command
says err "the command of --check, or a part of it, was not found: it ended with exit status 127; it said: "
says err "no-such-command"
rm -rf optimize_result
expect 5 optimize --check 'sed s/apples/pears/; exit 3'
says err "the command of --check says no: it ended with exit status 3; it said: 12 pears"
rm -rf optimize_result

# What differs.
program <<'END'
#!/bin/sh
printf 'hello\nthis is %s\n' "$0"
END
expect 3 optimize
says err 'it prints something else: line 2 is "'
says err '/program" instead of "'
says err "It is run as optimize_result/program"

# A program that hangs has its time.
program <<'END'
#!/bin/sh
echo begun >&2
exec sleep 100000
END
expect 5 optimize --timeout 1
says err "running ./k as it is"
says err "it did not end within the 1 s of --timeout"
rm -rf optimize_result
expect 1 optimize --budget 1
says err "the time of --budget was over before it had ended"
says out "The time of --budget was over"
says out "Next: rocm-perf optimize --resume --budget 2 "
[ "$(json rounds optimize_result/optimize.json)" = "[]" ] || fail "a round"
rm -rf optimize_result
program <<'END'
#!/bin/sh
echo fine
END
expect 5 optimize --check 'sleep 100000' --timeout 1
says err "it did not end within the 1 s of --timeout"

expect 2 optimize --timeout 0
says err "--timeout 0"
expect 2 optimize --timing off
says err "--timing off"
expect 2 optimize --resume -o nowhere
says err "there is no session in nowhere"
echo passed

# Each run reads what optimize has got, and so does a session that goes on.
program <<'END'
#!/bin/sh
read line || line=nothing
echo "read: $line" >&2
kill -SEGV $$
END
echo 'seven apples' >input
optimize <input >out 2>err && fail 'it has worked'
says err 'read: seven apples'
rm -rf optimize_result
optimize < <(cat input) >out 2>err && fail 'it has worked'
says err 'read: seven apples'
