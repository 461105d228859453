# Programs are tuned: what they are given, what they may do wrong, and what a kill leaves.
. "$(dirname "$0")/../lib.sh"
valid() { python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/autotune.schema.json" "$@" >valid || { cat valid; fail schema; }; }
tune() { rocm-perf autotune --device software "$@"; }

# Values reach the program as they are, and no shell sees them.
cat >hostile.json <<'END'
{"N": [1, 2, 3], "TEXT": ["a b", "'; touch pwned; '", "$(touch pwned)", "`touch pwned`", "new\nline", "%s%n%n", "\"", "\\", "*", "é"]}
END
cat >say.py <<'END'
import json, sys
n, text = sys.argv[1:]
with open("said", "a") as said:
    said.write(json.dumps([int(n), text]) + "\n")
print("time", 3 * int(n) + len(text) / 100)
END
expect 0 tune --space hostile.json --cmd-template 'python3 say.py {N} "{TEXT}"' --output-regex 'time ([0-9.]+)' \
    --repeats 1:1 --warmup 0 --max-fraction 0.9 --workers 2 -o hostile
[ ! -e pwned ] || fail 'a shell has seen a value'
cp hostile/autotune.json .
valid autotune.json
python3 - <<'END' || fail 'values are not what they were'
import json
space, result = json.load(open("hostile.json")), json.load(open("autotune.json"))
said = [tuple(json.loads(line)) for line in open("said")]
history = [(h["parameters"]["N"], h["parameters"]["TEXT"]) for h in result["history"]]
assert len(set(said)) == len(said) == 27 and sorted(said) == sorted(history), (said, history)
assert result["search_space_size"] == 30 and result["evaluated_configs"] == 27 and result["device"] == "software"
for h in result["history"]:
    assert abs(h["runtime_ms"] - 3 * h["parameters"]["N"] - len(h["parameters"]["TEXT"]) / 100) < 1e-9, h
best = min(result["history"], key=lambda h: h["runtime_ms"])
assert result["best_config"]["runtime_ms"] == best["runtime_ms"]
END
# With a shell as well.
rm said
expect 0 tune --space hostile.json --shell --cmd-template 'python3 say.py {N} {TEXT}' --output-regex 'time ([0-9.]+)' \
    --repeats 1:1 --warmup 0 --budget-evals 15 -o shell --quiet --max-fraction 0.5
[ ! -e pwned ] || fail 'the shell has run a value'
[ "$(wc -l <said)" = 15 ] || fail 'not 15 runs'

# Long ones reach it whole, and are not printed whole; too long ones are found before anything runs.
python3 -c 'import json
json.dump({"N": [1, 2], "TEXT": ["é" * 50000, "b" * 100000]}, open("long.json", "w"))
json.dump({"N": [1, 2], "TEXT": ["a" * 1000000]}, open("longer.json", "w"))'
rm said
expect 0 tune --space long.json --cmd-template 'python3 say.py {N} {TEXT}' --output-regex 'time ([0-9.]+)' --repeats 1:1 \
    --warmup 0 --max-fraction 0.9 -o long
[ "$(wc -l <said)" = 3 ] && python3 -c 'import json; [len(json.loads(l)[1].encode()) == 100000 or 1 / 0 for l in open("said")]' || fail 'a long value'
[ "$(cat out err | wc -c)" -lt 3000 ] || fail 'a long value is printed'
iconv -f UTF-8 -t UTF-8 out err >text || fail 'half a character is printed'
expect 2 tune --space longer.json --cmd-template 'python3 say.py {N} {TEXT}' --output-regex 'time ([0-9.]+)' -o longer

# Whatever programs do wrong, the search goes on, and says what it was.
cat >work.sh <<'END'
case $1 in
1) kill -SEGV $$ ;;
2) exit 3 ;;
3) echo nothing ;;
4) echo 'time 1 wrong' ;;
5) sleep 1000 & sleep 1000 ;;
*) echo "time $1" ;;
esac
END
echo '{"KIND": [1, 2, 3, 4, 5, 6, 7, 8]}' >kinds.json
expect 0 tune --space kinds.json --cmd-template 'sh work.sh {KIND}' --output-regex 'time ([0-9]+)' --output-unit us \
    --check '! grep -q wrong' --timeout 20 --repeats 1:1 --max-fraction 0.99 --json -o kinds
mv out result.json
valid result.json
python3 - <<'END' || fail 'outcomes'
import json
result = json.load(open("result.json"))
outcomes = {h["parameters"]["KIND"]: h["outcome"] for h in result["history"]}
expected = {1: "failed", 2: "failed", 3: "no time", 4: "wrong", 5: "timeout", 6: "ok", 7: "ok", 8: "ok"}
assert len(outcomes) == 7 and all(expected[kind] == outcome for kind, outcome in outcomes.items()), outcomes
assert all(h["reason"] for h in result["history"] if h["outcome"] != "ok")
assert result["best_config"]["runtime_ms"] in (0.006, 0.007) and result["warning"] == "low_model_confidence"
assert result["failures"]["failed"] >= 1
END
expect 1 tune --space kinds.json --cmd-template 'false {KIND}' --no-rocprof --max-fraction 0.5 -o none
says out 'no configuration works'
says out '4 failed'
says out 'exit status 1'
# That nothing works is said at once, and soon an error; who knows better goes on.
echo '{"A": [1, 2, 3, 4, 5, 6, 7, 8], "B": [1, 2, 3, 4, 5, 6, 7, 8]}' >large.json
all_fail() { tune --space large.json --cmd-template 'sh -c "echo boom >&2; exit 3" {A} {B}' --no-rocprof --max-fraction 0.5 -o all "$@"; }
expect 5 all_fail --max-failures 9
says err '1 of at most 32: none has worked yet; the last one failed: ended with exit status 3: boom'
says err '8 of at most 32: none'
says err 'the first 9 configurations have all failed; the first one (A='
says out 'ended by failures'
expect 5 all_fail --max-failures 1 -o one-failure
says err 'the first configuration has failed (A='
expect 5 all_fail --max-failures 10 --resume --json
[ "$(json evaluated_configs out)" = 10 ] && valid out || fail 'it did not go on'
expect 1 all_fail --max-failures 0 --resume --quiet
[ ! -s out ] && ! grep -q 'none has worked' err || fail 'it is not quiet'

# On a terminal one line that changes and fits, with the time that is left, no escape codes, nothing behind it.
python3 "$SOURCE/tests/terminal.py" 60 - rocm-perf autotune --device software --space large.json --cmd-template 'echo {A}{B}' \
    --output-regex '[0-9]+' --repeats 1:1 --warmup 0 --budget-evals 8 --check true -o terminal || fail 'the line on a terminal'
python3 - <<'END' || fail 'what the line on a terminal says'
parts = open("shown", newline="").read().split("\r")
assert len(parts) > 8 and not any("\n" in part for part in parts), parts
assert any("the best so far: A=" in part for part in parts), parts
assert any(" s left: " in part for part in parts), parts
END
tune --space large.json --cmd-template 'echo {A}{B}' --output-regex '[0-9]+' --repeats 1:1 --warmup 0 --budget-evals 8 -o plain >out 2>err
LC_ALL=C grep -q "[^[:print:]]" err && fail 'control characters without a terminal'

# A program for each configuration, built once for those that differ only in what it is told.
echo '{"HOW": ["good", "better", "bad"], "N": [5, 6, 7]}' >built.json
cat >build.sh <<'END'
echo "$2" >>builds
: >"$TMPDIR/left" && echo "$TMPDIR" >>temporaries
[ "$2" != bad ] || { echo 'it is bad' >&2; exit 1; }
printf '#!/bin/sh\necho "%s $1"\n' "$2" >"$1" && chmod +x "$1"
END
expect 0 tune --space built.json --build 'sh build.sh {output} {HOW}' --cmd-template '{output} {N}' \
    --output-regex '[a-z]+ ([0-9])' --repeats 1:1 --max-fraction 0.99 -o built --export-t1 t1.json --export-t4 t4.json --json
grep -v bad builds | sort | uniq -d | grep -q . && fail 'one program was built twice'
for folder in $(cat temporaries); do # what a compiler leaves that is killed goes with it
    [ "${folder#*/rocm-perf-worker-}" != "$folder" ] && [ ! -e "$folder" ] || fail "temporary files in $folder"
done
says out '"not built"'
says out 'it is bad'
# What was exported is a space, and results to begin with.
expect 0 tune --space t1.json --build 'sh build.sh {output} {HOW}' --cmd-template '{output} {N}' --import t4.json \
    --output-regex '[a-z]+ ([0-9])' --repeats 1:1 --max-fraction 0.5 -o again --json
says err 'are run first'
[ "$(json history.0.parameters.N out)" = 5 ] || fail 'it did not begin with the best one of before'
[ "$(json evaluated_configs out)" = 4 ] || fail 'not 4 of 9'

# Killed at any time, it goes on: only what was running is run again.
echo '{"A": [1, 2, 3, 4, 5, 6], "B": [1, 2, 3, 4, 5, 6]}' >grid.json
cat >run.sh <<'END'
echo "$1 $2" >>ran
if [ -e stop ] && [ "$(wc -l <ran)" -ge 9 ]; then
    echo here >reached
    sleep 1000
fi
echo "time $((10 + ($1 - 3) * ($1 - 3) + ($2 - 5) * ($2 - 5)))"
END
grid() { tune --space grid.json --cmd-template 'sh run.sh {A} {B}' --output-regex 'time ([0-9]+)' --repeats 1:1 --warmup 0 --max-fraction 0.5 "$@"; }
grid -o whole --quiet >whole.out
[ "$(cat whole.out)" = 10 ] || fail "found $(cat whole.out), not 10"
grid -o more --max-fraction 0.75 >more.out
rm ran
touch stop
background rocm-perf autotune --device software --space grid.json --cmd-template 'sh run.sh {A} {B}' \
    --output-regex 'time ([0-9]+)' --repeats 1:1 --warmup 0 --max-fraction 0.5 -o killed
pid=$!
while [ ! -e reached ]; do kill -0 $pid || { cat err; fail 'it has ended'; }; sleep 0.05; done
kill -9 $pid
wait $pid 2>/dev/null || true
rm stop
cp -r killed further
cp ran ran.killed
expect 2 grid -o killed
says err 'resume'
expect 0 grid -o killed --resume
says err '8 answers are in the journal'
[ "$(sort ran | uniq | wc -l)" = 18 ] && [ "$(wc -l <ran)" = 19 ] || { sort ran; fail 'not 18 configurations, one of them twice'; }
# With a larger limit as well: it ends as if it had had that from the beginning.
cp ran.killed ran
expect 0 grid -o further --resume --max-fraction 0.75
says err 'other than before: --max-fraction'
[ "$(sort ran | uniq -d | wc -l)" = 1 ] || { sort ran; fail 'more than what was running is run again'; }
python3 - <<'END' || fail 'the search that was killed has another result'
import json
for pair in ("whole", "killed"), ("more", "further"):
    a, b = (json.load(open(f + "/autotune.json")) for f in pair)
    for r in (a, b):
        for h in r["history"]:
            del h["at_ms"]
        for p in r["phases"]:
            del p["duration_ms"]
    assert a == b
assert len(a["history"]) == 27
END
# A signal ends it with the best so far, and that goes on as well.
rm ran reached
touch stop
background rocm-perf autotune --device software --space grid.json --cmd-template 'sh run.sh {A} {B}' \
    --output-regex 'time ([0-9]+)' --repeats 1:1 --warmup 0 --max-fraction 0.5 -o ended
pid=$!
while [ ! -e reached ]; do kill -0 $pid || { cat err; fail 'it has ended'; }; sleep 0.05; done
# Meanwhile nobody else writes to its folder.
expect 2 rocm-perf profile --device software --runs 1 -o ended true
says err 'ended is in use by a session of optimize or a search of autotune: name another folder with -o'
expect 2 grid -o ended --resume
says err 'ended is in use by another search'
kill -TERM $pid
got=0
wait $pid || got=$?
[ $got = 130 ] || { cat err; fail "exit status $got after SIGTERM"; }
says out '; interrupted'
says err 'interrupted: with -o ended --resume goes on'
says out 'Search 8 of 36'
rm stop
expect 0 grid -o ended --resume --quiet
[ "$(cat out)" = 10 ] || fail 'the search that was ended has another result'
lines=$(wc -l <ran)
expect 2 grid -o killed --resume --check true
says err "was begun otherwise: --check was not given"
expect 0 grid -o killed --resume --quiet
[ "$(wc -l <ran)" = "$lines" ] || fail 'something was run although all was known'

# Each option that differs is named as it is given.
expect 2 grid -o killed --resume --memory 100 --shell --output-unit us --timing detailed --device software:mi325x
for words in '--memory was not given, is 100;' '--shell was not given, is given;' '--output-unit was ms, is us;' \
    'the model of time (--timing, ROCM_PERF_DEVICE_TIMING) was "counts", is "detailed"' 'the GPU (--device, ROCM_PERF_DEVICE) was'; do
    says err "$words"
done
! grep -Eq 'device_name|timing_version|memory_bytes|--env' err || { cat err; fail 'a key of the journal'; }
expect 2 tune --space grid.json --cmd-template 'sh run.sh {A} {B}' --no-rocprof -o killed --resume --warmup 0
says err 'what is minimised (--no-rocprof, --output-regex) was "output", is "wall"'
# A folder that is gone says nothing about a configuration.
for template in 'sh -c "rm -rf gone; echo {A}{B}"' 'sh -c "rm -rf gone; exit 3" {A} {B}'; do
    expect 4 tune --space grid.json --cmd-template "$template" --output-regex '[0-9]+' --repeats 1:1 --warmup 0 --budget-evals 3 -o gone
    says err '-o: gone was removed or renamed meanwhile: put it back and give --resume, or begin anew without it'
    [ "$(wc -l <err)" = 1 ] && [ ! -e gone ] || { cat err; fail 'it went on'; }
done

# A worker for each GPU: the first two configurations run on one each.
export ROCM_PERF_DEVICE_GPUS=2
expect 0 tune --space large.json --cmd-template 'sh -c "echo \$ROCR_VISIBLE_DEVICES >>visible; echo {A}{B}"' --shell \
    --output-regex '[0-9]+' --repeats 1:1 --warmup 0 --budget-evals 4 --gpus all -o gpus --json
[ "$(json workers out)" = 2 ] && [ "$(sort -u visible | tr '\n' ' ')" = '0 1 ' ] || fail 'not a worker for each GPU'
expect 2 tune --space large.json --cmd-template 'echo {A}{B}' --no-rocprof --gpus 1,2 -o gpus-2
says err '--gpus 2: the software device has 2'
unset ROCM_PERF_DEVICE_GPUS

# What ends workers before they have begun is said once, and what can be seen before leaves no folder.
TMPDIR=$PWD/nowhere expect 4 tune --space large.json --cmd-template 'echo {A}{B}' --no-rocprof --workers 3 -o early
says err '/nowhere: No such file or directory: let TMPDIR name one'
[ "$(wc -l <err)" = 1 ] || { cat err; fail 'more than one line'; }
if [ ! -e /dev/kfd ]; then
    expect 4 rocm-perf autotune --device gpu --space large.json --cmd-template 'echo {A}{B}' --no-rocprof -o early-gpu
    [ "$(wc -l <err)" = 1 ] && [ ! -e early-gpu ] || { cat err; fail 'more than one line, or a folder'; }
fi

# A full disk says nothing about a configuration. Without the right to mount, the disk is never full.
mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=1m none small 2>/dev/null; then
    trap 'umount "$SCRATCH/small"; rm -rf "$SCRATCH"' EXIT
    printf '{ printf "#!/bin/sh\\n"; cat run.sh; printf "exit\\n"; dd if=/dev/zero bs=64k count=32; } >"$1" && chmod +x "$1"\n' >large.sh
    on_small() {
        tune --space grid.json --build 'sh large.sh {output}' --cmd-template '{output} {A} {B}' --output-regex 'time ([0-9]+)' \
            --repeats 1:1 --warmup 0 --max-fraction 0.99 -o small/search "$@"
    }
    expect 4 on_small --budget-evals 2
    says err 'MiB left'
    says err 'go on with --resume'
    ! grep -q '"not built"' small/search/journal.jsonl || fail 'a full disk counts as a configuration that does not build'
    mount -o remount,size=200m small
    expect 0 on_small --budget-evals 2 --resume
    ! grep -q 'No space' small/search/journal.jsonl || fail 'a full disk is remembered'
    # A journal that cannot be written says why, on a disk that has little left, too.
    mount -o remount,size=40m small
    limited() { (ulimit -f 8; trap '' XFSZ; rocm-perf autotune --simulate "$SOURCE/tests/data/tune/made.json" "$@"); }
    expect 4 limited --budget-evals 20 -o small/limited
    says err 'journal.jsonl: File too large: allow larger files (ulimit -f), and go on with --resume'
    ! grep -q 'MiB left' err || fail 'a guess in place of what is known'
    umount small
    trap 'rm -rf "$SCRATCH"' EXIT
fi

# Mistakes are found before anything runs.
rm ran
for template in 'sh run.sh {A}' 'sh run.sh {A} {B} {C}' 'sh run.sh {A} {B} | cat' 'sh "run.sh {A} {B}'; do
    expect 2 tune --space grid.json --cmd-template "$template" --no-rocprof -o mistake
done
expect 2 tune --space grid.json --build 'make {A}' --cmd-template '{output} {B}' --no-rocprof -o mistake
says err '{output}'
expect 2 tune --space grid.json --cmd-template '{output} {A} {B}' --no-rocprof -o mistake
says err '--cmd-template: column 1: {output} is the program that --build makes: give --build'
expect 2 tune --space grid.json --cmd-template 'sh run.sh {A} {B}' --output-regex '(' -o mistake
expect 3 tune --space ran --cmd-template 'sh run.sh {A} {B}' -o mistake
expect 2 tune --space grid.json --cmd-template 'sh run.sh {A} {B}' --no-rocprof --gpus 0,1 -o mistake
says err 'use --workers'
for output in --plot --export-t4; do
    expect 4 tune --space grid.json --cmd-template 'sh run.sh {A} {B}' --no-rocprof -o mistake $output nowhere/file
    says err "$output: cannot write nowhere/file"
done
[ ! -e ran ] || fail 'something ran'
# What is written has to be UTF-8; names of files need not.
mv grid.json $'grid\xff.json'
expect 0 tune --space $'grid\xff.json' --cmd-template 'sh run.sh {A} {B}' --output-regex 'time ([0-9]+)' --repeats 1:1 --warmup 0 \
    --budget-evals 2 -o names --export-t1 t1.json --export-t4 t4.json
python3 -c 'import json; [json.load(open(f, encoding="utf-8")) for f in ("t1.json", "t4.json")]' || fail 'no UTF-8'
