#!/usr/bin/env bash
# Two workers of this machine: who is free gets the next request, one that dies is started again, another
# GPU is refused, and nothing is left when the one who asks is killed.
. "$(dirname "$0")/../lib.sh"
export PYTHONPATH=$SOURCE/tests/e2e/tune PYTHONDONTWRITEBYTECODE=1 SCRATCH TMPDIR=$SCRATCH
ln -s "$(command -v sleep)" sleep_here
left() { grep -qzs "^$SCRATCH/sleep_here" /proc/[0-9]*/cmdline; } # -q: also when a process ends meanwhile

# The first two are only answered when both run at the same time.
python3 - >requests <<'END'
from requests import *
import os
sh, sleeper = ("sh", "-c"), os.environ["SCRATCH"] + "/sleep_here"
meet = 'touch "$0"; while [ ! -e "$1" ]; do sleep 0.02; done; echo 1'
lines = [request(1, *sh, meet, "here1", "here2", **output("[0-9]+")), request(2, *sh, meet, "here2", "here1", **output("[0-9]+"))]
lines += [request(i, "echo", str(i), **output("[0-9]+")) for i in range(3, 20)]
lines += [request(20, *sh, 'printf "%s" "$1" | wc -c', "x", "a" * 130000, "b" * 130000, **output("[0-9]+"))]
lines += [request(21, *sh, "setsid $0 99999 & kill -9 $PPID; $0 99999", sleeper), request(22, "echo", "22", **output("[0-9]+"))]
print("\n".join(lines))
END
expect 0 tune_drive pool local 2 requests answers rocm-perf autotune --worker --device software
python3 - <<'END' || { cat answers err; fail "answers"; }
import json
answers = {a["id"]: a for a in map(json.loads, open("answers"))}
assert sorted(answers) == list(range(1, 23)), sorted(answers)
for i in range(1, 23):
    a = answers[i]
    if i == 21:
        assert a["outcome"] == "failed" and "2 workers died with it; the last one was ended by SIGKILL" in a["reason"], a
    else:
        assert a["outcome"] == "ok" and a["runtimes_ns"] == [{1: 1, 2: 1, 20: 130000}.get(i, i)], a
END
says err "2 workers: AMD Instinct MI300X"
says err "was ended by SIGKILL; it is started again"
says err "worker 1: "
says err "worker 2: "
left && fail "something is left running behind a worker that was killed"

# The same answers, whatever the number of workers.
grep -v '"id": \(1\|2\|21\),' requests >some
for workers in 1 3; do
    expect 0 tune_drive pool local $workers some answers-$workers rocm-perf autotune --worker --device software
    sed -i 's/"bench_ns":[0-9]*/"bench_ns":0/' answers-$workers
done
cmp answers-1 answers-3 || fail "three workers give other answers than one"

# Only the same GPU.
cat >mixed <<'END'
#!/bin/sh
mkdir first 2>/dev/null && exec rocm-perf autotune --worker --device software
exec rocm-perf autotune --worker --device software:mi325x
END
chmod +x mixed
expect 4 tune_drive pool local 2 some answers ./mixed
says err "is a AMD Instinct MI3"
says err "use GPUs of one model"

# No two on the same GPU: their greetings are as of hardware.
cat >gpu <<'END'
#!/bin/sh
echo '{"protocol":1,"version":"1","host":"h","pid":1,"device":"hardware","gfx":"gfx942","gpu":"AMD Instinct MI300X","compute_units":304,"node":3,"visible":"","rocm":"7.2.4","timing":""}'
exec cat >/dev/null
END
sed 's/"protocol":1/"protocol":2/' gpu >other-protocol
chmod +x gpu other-protocol
expect 4 tune_drive pool local 2 some answers ./gpu
says err "worker 2 (h) has the GPU of worker 1"
expect 4 tune_drive pool local 1 some answers ./other-protocol
says err "speaks protocol 2, not 1"

# What is no worker.
expect 4 tune_drive pool local 1 some answers echo hello
says err "the line is not JSON"
expect 4 tune_drive pool local 2 some answers sh -c 'exit 7'
says err "ended with exit status 7"
expect 2 tune_drive pool local 2 some answers ./no-such-program

# It is killed: neither workers nor programs stay, also those that do not listen to SIGTERM.
python3 - >one <<'END'
from requests import *
import os
print(request(1, "sh", "-c", "trap '' TERM; (setsid $0 99999) & touch began; $0 99999", os.environ["SCRATCH"] + "/sleep_here"))
END
background tune_drive pool local 1 one answers rocm-perf autotune --worker --device software
while [ ! -e began ] && kill -0 $! 2>/dev/null; do sleep 0.05; done
[ -e began ] || { cat err; fail "it has not begun"; }
while ! left; do sleep 0.05; done
kill -KILL $!
wait $! 2>/dev/null || true
while left; do sleep 0.1; done # the test's time limit ends this

# It is interrupted: the same, before it ends.
rm began
background tune_drive pool local 1 one answers rocm-perf autotune --worker --device software
while [ ! -e began ] && kill -0 $! 2>/dev/null; do sleep 0.05; done
kill -INT $!
status=0
wait $! || status=$?
[ $status = 130 ] || { cat err; fail "status $status when interrupted"; }
left && fail "something is left running" || true

# Files of workers that were killed are removed by the next ones, not those of others.
mkdir rocm-perf-worker-stale rocm-perf-worker-used
flock -F rocm-perf-worker-used sleep 600 &
holder=$!
while flock -n rocm-perf-worker-used true; do sleep 0.05; done
expect 0 tune_drive pool local 1 some answers rocm-perf autotune --worker --device software
[ "$(ls -d rocm-perf-worker-*)" = rocm-perf-worker-used ] || { ls; fail "files of other workers"; }
kill $holder

# However many requests kill their workers, those that do not are answered.
python3 - >killers <<'END'
from requests import *
lines = [request(i, "sh", "-c", "kill -9 $PPID", **output("[0-9]+")) for i in range(1, 7)]
print("\n".join(lines + [request(7, "echo", "7", **output("[0-9]+"))]))
END
expect 0 tune_drive pool local 2 killers answers rocm-perf autotune --worker --device software
[ "$(grep -c '2 workers died with it' answers)" = 6 ] || { cat answers; fail "killers"; }
[ "$(grep -c '"outcome":"ok"' answers)" = 1 ] || { cat answers; fail "the request behind the killers"; }
