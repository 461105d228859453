# Each run of a program gets the same standard input.
. "$(dirname "$0")/../lib.sh"
example from_input
echo 7 | rocm-perf profile --device software -o seven ./from_input >out 2>err || { cat err >&2; fail 'a pipe'; }
says out '7 launches of 1 kernel'
[ "$(json run_differences seven/profile.json)" = '[]' ] || fail 'the runs differ'
sqlite3 seven/repeats/run-3_results.db 'select count(*) from rocpd_kernel_dispatch' | grep -qx 7 || fail 'the third run'
echo 3 | rocm-perf profile --device software --runs 1 --deep-analysis -v -o deep ./from_input >out 2>err || { cat err >&2; fail 'a thread trace'; }
says out 'Thread trace of'
(echo 5; echo rest) >file
{ rocm-perf profile --device software --runs 2 -o five ./from_input >out 2>err || fail 'a file'; } <file
says out '5 launches of 1 kernel'
# What the program does not read is left for who reads next, such as the loop that has started it.
printf '%s\n' a b c | while read -r line; do
    rocm-perf profile --device software --runs 2 --no-rocprof -o "line-$line" /bin/true >out 2>err || { cat err >&2; fail 'a loop'; }
    echo "$line"
done >lines
[ "$(echo $(cat lines))" = 'a b c' ] || fail "profile has taken lines that its program did not read: only $(echo $(cat lines)) came"
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

# Each configuration of autotune reads all of it, too, on each worker and in each run, and after --resume.
cat >sums.sh <<'END'
#!/bin/sh
sum=$(cat | cksum)
[ "$sum" = "$SUM" ] || { echo "read $sum"; exit 1; }
echo $(($1 + 3))
END
chmod +x sums.sh
echo '{"N": [1, 2, 3, 4, 5, 6, 7, 8]}' >space.json
tune() {
    rocm-perf autotune --space space.json --cmd-template './sums.sh {N}' --output-regex '.*' --device software \
        --repeats 1:2 --top 1 "$@" >out 2>err
}
seq 200000 >numbers
export SUM="$(cksum <numbers)"
tune --max-fraction 0.5 --workers 2 -o pipe < <(cat numbers) || { cat out err; fail 'autotune: a pipe'; }
says out 'Search 4 of 8'
grep -q failed out && fail 'autotune: not each run reads all of it'
[ "$(stat -c %a pipe/stdin)" = 600 ] || fail 'autotune: others may read what is kept'
tune --max-fraction 0.7 --resume -o pipe </dev/null || { cat out err; fail 'autotune: --resume without it'; }
grep -q failed out && fail 'autotune: --resume has lost it'
! tune --max-fraction 0.8 --resume -o pipe < <(echo other) || fail 'autotune: --resume with another'
says err 'standard input is not what it was when this was begun'
tune --max-fraction 0.5 -o from-file <numbers || fail 'autotune: a file'
grep -q failed out && fail 'autotune: not each run reads all of the file'
tune --max-fraction 0.8 --resume -o pipe < <(cat numbers) || { cat out err; fail 'autotune: --resume with the same'; }
# What comes late is waited for, and an input that ends without a byte is an empty one.
export SUM="$(echo late | cksum)"
tune --max-fraction 0.5 -o late < <(sleep 3; echo late) || { cat out err; fail 'autotune: late input'; }
grep -q failed out && fail 'autotune: late input is taken for empty'
says err 'waiting for the end of standard input'
says err '5 bytes of standard input were read; each run gets all of them'
export SUM="$(cksum </dev/null)"
tune --max-fraction 0.5 -o empty < <(sleep 1) || fail 'autotune: a pipe that nobody writes to'
[ ! -e empty/stdin ] || fail 'autotune: an empty input is kept'
! tune --max-fraction 0.7 --resume -o empty < <(echo other) || fail 'autotune: --resume with an input'
says err 'programs of empty had no standard input when this was begun: give none (< /dev/null)'
