# The verdict on a new version of a kernel: right and faster, and each way in which it is not.
. "$(dirname "$0")/../lib.sh"
unset ROCM_PERF_DEVICE_TIMING # times are what it is about

cp "$SOURCE/tests/e2e/programs/judged.hip" old.hip
rocm-perf hipcc -O3 old.hip -o app >&2 || fail "cannot compile"
for version in 1 2 3 4 5 8 9 10; do
    sed "s/^#define VERSION 0/#define VERSION $version/" old.hip >new$version.hip
done
cp old.hip new6.hip && sed -i 's/in\[i\]/on[i]/' new6.hip
cp old.hip new7.hip && sed -i 's/total %ld/sum %ld/' new7.hip

sound() {
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/judge.schema.json" "$1" >/dev/null || fail "$1: schema"
}

# judged STATUS VERSION [OPTION...]: the first line is in out
judged() {
    local status=$1 version=$2
    shift 2
    expect "$status" rocm-perf judge --old old.hip --new "new$version.hip" --device software -o result "$@" ./app
    sound result/judge.json
}

judged 0 1 --sizes '1000; 77'
head -1 out | grep -Eq '^right and 1\.[0-9]+ times as fast \(1\.[0-9]+ to 1\.[0-9]+\)$' || { cat out; fail "faster"; }
says out "program: accepted"
says out "with the arguments '77': "
[ "$(json verdict result/judge.json)" = "right and faster" ] || fail "verdict"
python3 - result/judge.json <<'EOF' || fail "the ratio is not that of the times"
import json, sys
j = json.load(open(sys.argv[1]))
c = j["kernels"][0]["comparisons"][0]["comparison"]
assert abs(j["ratio"]["estimate"] - c["a"]["median_us"] / c["b"]["median_us"]) < 1e-3, j["ratio"]
assert [k["arguments"] for k in j["kernels"]] == [None, "1000", "77"], j["kernels"]
assert 0 < j["kernels"][0]["captures"][0]["least_us"] < c["b"]["median_us"], j["kernels"][0]["captures"]
assert j["changed_kernels"] == ["_Z8row_sumsPKiPii"]
EOF
judged 1 2
head -1 out | grep -q '^wrong: ' || { cat out; fail "a race"; }
judged 1 3
head -1 out | grep -q '^wrong: .*half of the workgroups' || { cat out; fail "sizes built in"; }
judged 1 4
head -1 out | grep -Eq '^right, but slower: it takes [1-9.]+ times as long' || { cat out; fail "slower"; }
sed 's/total %ld/sum %ld/' new4.hip >new11.hip
judged 1 11
head -1 out | grep -q '^wrong: in the program: ' || { cat out; fail "slower, and the program prints something else"; }
judged 1 10 --timing counts
head -1 out | grep -q '^unsafe: .*race' || { cat out; fail "a race that no output shows"; }
judged 1 5
says out "same code: "
judged 1 6
head -1 out | grep -q "^does not compile: .*'on'" || { cat out; fail "does not compile"; }
judged 6 1 --kernel other
says out "undecided: the program launches no kernel that differs and that --kernel finds"
says out "not judged: row_sums(int const*, int*, int): --kernel does not find it"
sed 's/row_sums/line_sums/' new1.hip >new13.hip
judged 6 13
says out "undecided: new13.hip has no kernel row_sums(int const*, int*, int): keep its name and arguments"
judged 1 7 # the kernels are the same
says out 'wrong: in the program: it prints something else: line 1 is "sum '
sed -e 's/row_sums<<</sevens<<</' -e 's/^int main/__global__ void sevens(const int *in, int *out, int n) { out[blockIdx.x] = 7; }\n&/' \
    old.hip >new12.hip
judged 1 12
says out 'wrong: in the program: it prints something else: line 1 is "total 224"'
says out "not judged: sevens(int const*, int*, int): the old version has no kernel of that name"

# One record for each judgement, each with the hash of the one before; a changed one is found.
python3 - result <<'EOF' || fail "the chain"
import hashlib, json, sys
before = "0" * 64
lines = open(sys.argv[1] + "/journal.jsonl", "rb").read().splitlines()
for line in lines:
    body = line[line.index(b'"record":') + 9:-1]
    before = hashlib.sha256(before.encode() + body).hexdigest()
    assert json.loads(line)["sha256"] == before
data = json.loads(lines[-1])["record"]["data"]
assert len(lines) == 13, len(lines)
assert data["judge_sha256"] == hashlib.sha256(open(sys.argv[1] + "/judge.json", "rb").read()).hexdigest()
assert data["new"]["sha256"] == hashlib.sha256(open("new12.hip", "rb").read()).hexdigest()
EOF
sed -i '2s/right and faster/right or faster!/' result/journal.jsonl
expect 3 rocm-perf judge --old old.hip --new new5.hip --device software -o result ./app
says err "journal.jsonl"

# What a candidate may do: its program is right, and tries what it must not. Of what the machine has no means for, the
# result says so.
python3 -c '
import socket, sys, time
listening = socket.create_server(("127.0.0.1", 0))
open("port", "w").write(str(listening.getsockname()[1]))
time.sleep(1500)' >/dev/null 2>&1 &
listener=$!
while [ ! -s port ]; do sleep 0.1; done
hostile() {
    expect "$1" env JUDGED_FILE="$SCRATCH/hostile" JUDGED_PORT="$(cat port)" rocm-perf judge --old old.hip --new "$2" \
        --device software -o hostile_result "${@:3}" ./app
    sound hostile_result/judge.json
}
hostile 1 new8.hip --no-sandbox
says out 'wrong: in the program: it prints something else: line 1 is "connected"'
says out "sandbox: none (--no-sandbox)"
[ -e hostile ] || fail "without a sandbox it can write"
rm hostile
if [ "$(json sandbox.files result/judge.json)" != null ] && [ "$(json sandbox.network result/judge.json)" != null ]; then
    hostile 0 new8.hip
    says out "sandbox: files: "
    [ ! -e hostile ] || fail "it wrote outside of its folder"
    mkdir open
    expect 0 env JUDGED_FILE="$SCRATCH/open/hostile" JUDGED_PORT="$(cat port)" rocm-perf judge --old old.hip \
        --new new8.hip --device software -o hostile_result --writable open ./app
    [ -e open/hostile ] || fail "--writable"
    expect 2 rocm-perf judge --old old.hip --new new8.hip --device software -o hostile_result --writable . ./app
    says err "--writable .: -o hostile_result is in it"
fi
if [ "$(json sandbox.processes result/judge.json)" != null ]; then
    hostile 1 new9.hip
    [ "$(pgrep -xc program-new)" = 0 ] || fail "something goes on forking"
    says out "wrong: in the program: it started more processes than it may"
fi
kill $listener || true

# Code objects, in a bundle or a folder of Triton's cache, and captures that are there.
expect 0 rocm-perf isolate --kernel row_sums --representative --device software -o captured ./app
rocm-perf hipcc -O3 --genco --offload-arch=gfx942 new1.hip -o new1.hsaco >&2
mkdir cache && cp captured/dispatch-1/kernel.hsaco cache/row_sums.hsaco
expect 0 rocm-perf judge --old cache --new new1.hsaco --capture-dir captured -o others --compare exact --json
sound out
[ "$(json settings.compare out)" = exact ] || fail "--compare"
says others/work/scratch/compare.json '"compare": "exact"'
[ "$(json old.kind out)" = "code object" ] || fail "kind"
[ "$(json program.tried out)" = false ] || fail "no program was given"
expect 1 rocm-perf judge --old captured/dispatch-1/kernel.hsaco --new new2.hip --capture-dir captured/dispatch-1 -o others
says out "wrong: "
expect 3 rocm-perf judge --old new2.hip --new old.hip --capture-dir captured -o others
says err "--old new2.hip does not do what was captured"
expect 3 rocm-perf judge --old app --new old.hip --capture-dir captured -o others
says err "is no code object of a GPU"
expect 3 rocm-perf judge --old old.hip --new new1.hip --capture-dir cache -o others
says err "is no capture, and holds none"
expect 2 rocm-perf judge --old old.hip --new new1.hip -o others
says err "where does the kernel run?"
expect 2 rocm-perf judge --old old.hip --new new1.hip -o others --capture-dir captured ./app
says err "with --capture-dir no program is run"
expect 2 rocm-perf judge --old old.hip --new new1.hip -o others --sizes 'a; $(b)' ./app
says err "--sizes"
# In the program something else counts: what it prints.
sed -i 's/total %ld/sum %ld/' new1.hip
judged_in_program() { expect "$1" rocm-perf judge --old old.hip --new new1.hip --device software -o program ./app; }
judged_in_program 1
says out 'wrong: in the program: it prints something else: line 1 is "sum '

# A program that prints something else each time cannot be tried, unless --check says what is right.
sed -i -e 's/sum %ld/total %ld/' -e '1a #include <ctime>' -e 's/^    printf("total/    printf("%ld us\\n", (long)clock());\n&/' old.hip new1.hip
rocm-perf hipcc -O3 old.hip -o app >&2 || fail "cannot compile"
judged_in_program 6
head -1 out | grep -q '^undecided: the kernels are right and .* times as fast .*, but the program could not be tried: ' || { cat out; fail "untried"; }

# Ctrl-C and a disk that is full are no verdicts: there is neither a judge.json nor a record, and the next one goes on.
cp new2.hip wrong.hip
judged_once() { rocm-perf judge --old old.hip --new wrong.hip --device software -o "$@" ./app; }
rocm-perf judge --old old.hip --new wrong.hip --device software -o cut ./app >out 2>err </dev/null &
judge=$!
for _ in $(seq 600); do grep -q 'capturing dispatches' err && break; sleep 0.1; done
kill -INT $judge
status=0
wait $judge || status=$?
[ $status = 130 ] || { cat err; fail "interrupted: exit status $status"; }
says err "interrupted by SIGINT"
no_verdict() {
    [ ! -s out ] || { cat out; fail "$1: a verdict"; }
    [ ! -e "$1/judge.json" ] || fail "$1: judge.json"
    ! grep -q '"kind":"judgement"' "$1/journal.jsonl" || fail "$1: a record"
}
no_verdict cut
expect 1 judged_once cut
says out "wrong: "
[ "$(grep -c '"kind":"judgement"' cut/journal.jsonl)" = 1 ] || fail "no record"

mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=100k none small 2>/dev/null; then
    trap 'umount "$SCRATCH/small"; rm -rf "$SCRATCH"' EXIT
    expect 4 judged_once small/result
    says err 'MiB left: make space (64 MiB or more) and judge again'
    no_verdict small/result
    mount -o remount,size=200m small
    expect 1 judged_once small/result
    says out "wrong: "
fi
# Where files may not grow, the old version cannot be made, either.
status=0
(ulimit -f 8; trap '' XFSZ; judged_once limited) >out 2>err </dev/null || status=$?
[ $status = 3 ] || [ $status = 4 ] || { cat out err; fail "exit status $status"; }
no_verdict limited
