# What a judgement rests on is out of reach of what is judged: a new version whose program is right, and which puts links
# where the judge writes, spoils programs, captures and profiles, and locks what is to be removed.
. "$(dirname "$0")/../lib.sh"
unset ROCM_PERF_DEVICE_TIMING # times are what it is about

cp "$SOURCE/tests/e2e/programs/judged.hip" old.hip
rocm-perf hipcc -O3 old.hip -o app >&2 || fail "cannot compile"
sed "s/^#define VERSION 0/#define VERSION 11/" old.hip >new.hip
echo "not yours" >victim
chmod 600 victim

# sealed TIMES [WRAPPER...]: where it is judged twice, the second begins with what the first has left
sealed() {
    local times=$1 number
    shift
    for number in $(seq "$times"); do
        expect 0 env JUDGED_FILE="$SCRATCH/victim" JUDGED_WORK="$SCRATCH/result/work" "$@" rocm-perf judge --old old.hip \
            --new new.hip --check 'grep -q ^total && ! touch victim' --device software -o result ./app
        says out "program: accepted"
        [ "$(cat victim)" = "not yours" ] || fail "a link was followed"
        [ "$(stat -c %a victim)" = 600 ] || fail "its mode is another"
        [ -s result/work/program-old ] || fail "the old program was written to"
        python3 - result "$number" <<'EOP' || fail "the record"
import hashlib, json, sys
before = "0" * 64
lines = open(sys.argv[1] + "/journal.jsonl", "rb").read().splitlines()
for line in lines:
    before = hashlib.sha256(before.encode() + line[line.index(b'"record":') + 9:-1]).hexdigest()
    assert json.loads(line)["sha256"] == before
data = json.loads(lines[-1])["record"]["data"]
captures = json.load(open(sys.argv[1] + "/judge.json"))["kernels"][0]["captures"]
sums = open(captures[0]["folder"] + "/checksums.json", "rb").read()
assert len(lines) == 1 + int(sys.argv[2]), len(lines)
assert captures[0]["checksums_sha256"] == hashlib.sha256(sums).hexdigest()
assert before in open("out").read()
EOP
    done
    rm -r result
}

rocm-perf judge --old old.hip --new old.hip --device software -o means ./app >/dev/null || true
[ "$(json sandbox.files means/judge.json)" = null ] || sealed 2
# By Landlock and seccomp alone, as in containers that refuse namespaces.
printf '#!/bin/sh\necho 0 >/proc/sys/user/max_user_namespaces && exec "$@"\n' >alone
chmod +x alone
if unshare -Ur ./alone true 2>err && unshare -Ur ./alone rocm-perf judge --old old.hip --new old.hip --device software \
    -o means ./app >/dev/null; [ "$(json sandbox.files means/judge.json)" = "Landlock and seccomp" ]; then
    sealed 1 unshare -Ur ./alone
fi
