# Each run of a program gets the same standard input.
. "$(dirname "$0")/../lib.sh"
example from_input
echo 7 | rocm-perf profile --device software -o seven ./from_input >out 2>err || { cat err >&2; fail 'a pipe'; }
says out '7 launches of 1 kernel'
[ "$(json run_differences seven/profile.json)" = '[]' ] || fail 'the runs differ'
sqlite3 seven/repeats/run-3_results.db 'select count(*) from rocpd_kernel_dispatch' | grep -qx 7 || fail 'the third run'
echo 3 | rocm-perf profile --device software --runs 1 --deep-analysis -o deep ./from_input >out 2>err || { cat err >&2; fail 'a thread trace'; }
says out 'Thread trace of'
(echo 5; echo rest) >file
{ rocm-perf profile --device software --runs 2 -o five ./from_input >out 2>err || fail 'a file'; } <file
says out '5 launches of 1 kernel'
# A terminal: refused when the program waits for it, not before.
cat >terminal.py <<'END'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
said = b""
try:
    while part := os.read(fd, 4096):
        said += part
except OSError:
    pass
sys.stdout.buffer.write(said)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
expect 2 python3 terminal.py rocm-perf profile --device software -o typed ./from_input
says out 'waits for input from the terminal'
says out '--runs 1'
[ ! -e typed ] || fail 'a result of a run that was refused'
expect 0 python3 terminal.py rocm-perf profile --device software --quiet -o untyped sh -c 'echo 2 | ./from_input'
