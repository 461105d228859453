#!/usr/bin/env bash
# One worker and small programs: each way in which a configuration can end, and nothing is left running.
. "$(dirname "$0")/../lib.sh"
export PYTHONPATH=$SOURCE/tests/e2e/tune PYTHONDONTWRITEBYTECODE=1 SCRATCH TMPDIR=$SCRATCH

cat >timed <<'END'
#!/bin/sh
echo run >>"$SCRATCH/timed.runs"
echo "time: 1.5 ms"
echo "time: 2.5 ms"
END
chmod +x timed
ln -s "$(command -v sleep)" sleep_here # what is left running is known by this name
python3 - >requests <<'END'
import os
from requests import *
s = os.environ["SCRATCH"]
hostile = "'; touch %s/pwned $(touch %s/pwned) `touch %s/pwned`\n%%s%%n" % (s, s, s)
sh = ("sh", "-c")
copy = build(s + "/built/program", *sh, 'echo built >>"$1"; cp "$2" "$0"', s + "/built/program", s + "/builds", s + "/timed")
print("\n".join([
    request(1, "./timed"),
    request(2, "./timed", samples=3, warmups=2, check="grep -q 2.5", **output("time: ([0-9.]+) ms", 1e6)),
    request(3, *sh, "echo boom >&2; exit 3"),
    request(4, *sh, "kill -SEGV $$"),
    request(5, "./nothing"),
    request(6, *sh, "trap '' TERM; (trap '' TERM; setsid %s/sleep_here 99999 & %s/sleep_here 99999) & %s/sleep_here 99999" % (s, s, s), timeout_ns=10**9),
    request(7, "./timed", check="echo no; false"),
    request(8, "./timed", **output("abc")),
    request(9, *sh, "echo time: -1", **output("time: (.*)")),
    request(10, *sh, "echo time: 1x", **output("time: (.*)")),
    request(11, *sh, "printenv A; printenv HOME || echo 11", environment=[["A", "7"], ["HOME", None]], **output("[0-9]+")),
    request(12, s + "/built/program", **copy),
    request(13, s + "/built/program", **copy),
    request(14, "x", **build(s + "/b2/program", *sh, "echo 'x.c:1: error: no' >&2; echo more; exit 1")),
    request(15, "x", **build(s + "/b3/program", "true")),
    request(16, "x", **build(s + "/b4/program", s + "/no-compiler")),
    request(17, *sh, "setsid %s/sleep_here 99999 & echo 5" % s, **output("[0-9]+")),
    request(18, "printf", "%s", hostile, environment=[["A", hostile]], **output(r"%s%n")),
    request(19, *sh, 'printf "%s" "$1" | wc -c', "x", "a" * 100000, **output("[0-9]+")),
    request(20, "cat", **output("[0-9]+")),
    request(21, "printf", "%s", {"base16": "31ff32"}, check='[ "$(od -An -tx1)" = " 31 ff 32" ]'),
    request(22, *sh, 'a=$(head -c 300000000 /dev/zero | tr "\\0" x); %s/sleep_here 99999' % s, memory_bytes=100 << 20),
    request(23, *sh, "yes | head -c 80000000; yes | head -c 80000000 >&2"),
    request(24, *sh, "head -c 80000000 /dev/zero; echo 5", check="true"),
    request(25, *sh, "head -c 80000000 /dev/zero; echo 5", **output("[0-9]")),
    request(26, *sh, "yes & sleep 0.1; exec yes", timeout_ns=2 * 10**9),
    request(27, s + "/sleep_here", "99999", warmups=1, warmup_timeout_ns=10**9),
]))
END
rocm-perf autotune --worker --device software <requests >out 2>err || { cat out err >&2; fail "the worker"; }
[ ! -e pwned ] || fail "a value was run as code"
cat >check.py <<'END'
import json, sys
lines = [json.loads(line) for line in open("out")]
hello, answers = lines[0], {a["id"]: a for a in lines[1:]}
assert hello["protocol"] == 1 and hello["device"] == "software" and hello["gfx"] == "gfx942", hello
def must(id, outcome, reason=None, **members):
    a = answers[id]
    assert a["outcome"] == outcome and (reason is None or reason in a["reason"]), a
    assert ("reason" in a) == (outcome != "ok"), a
    assert all(a[key] == value for key, value in members.items()), (members, a)
must(1, "ok", built=False)
assert len(answers[1]["runtimes_ns"]) == 1 and answers[1]["runtimes_ns"][0] > 0
must(2, "ok", runtimes_ns=[2.5e6] * 3)
must(3, "failed", "exit status 3: boom", status=3, signaled=False)
must(4, "failed", "SIGSEGV", status=11, signaled=True)
must(5, "failed", "./nothing: No such file")
must(6, "timeout", "within 1 s", cap_ns=10**9, runtimes_ns=[])
must(7, "wrong", "exit status 1: no")
must(8, "no time", "nothing that it printed matches")
must(9, "no time", "-1, which is no time")
must(10, "no time", "1x, which is no number")
must(11, "ok", runtimes_ns=[11.0])
must(12, "ok", built=True)
must(13, "ok", built=False)
must(14, "not built", "x.c:1: error: no", status=1)
must(15, "not built", "left no file")
must(16, "not built", "no-compiler")
must(17, "ok", runtimes_ns=[5.0])
must(18, "no time", "%s%n, which is no number")
must(19, "ok", runtimes_ns=[100000.0])
must(20, "no time", "matches")  # standard input is not that of the worker
must(21, "ok")
must(22, "failed", "more memory")
must(23, "ok")
must(24, "failed", "printed more than 64 MiB")
must(25, "failed", "printed more than 64 MiB")
must(26, "timeout")
must(27, "timeout", "within 1 s", cap_ns=10**9)
assert all(answers[i]["bench_ns"] > answers[i]["warmup_ns"] >= (i == 2) for i in (1, 2))
END
python3 check.py || { cat out; fail "answers"; }
[ "$(wc -l <builds)" = 1 ] || fail "one program was built twice"
[ "$(wc -l <timed.runs)" = 10 ] || fail "$(wc -l <timed.runs) runs"
grep -qzs "^$SCRATCH/sleep_here" /proc/[0-9]*/cmdline && fail "something is left running"

# What is no request ends it, and it says why.
status=0
echo '{"id": 1}' | rocm-perf autotune --worker --device software >out 2>err || status=$?
[ $status = 3 ] || fail "status $status for what is no request"
says out '"fatal"'
says err '"command" is not a list of words'
