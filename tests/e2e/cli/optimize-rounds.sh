# Several rounds: what takes most is improved, then what takes most after that; on a disk that is full
# again and again meanwhile. A kernel with two geometries; a dry run; time that is over.
. "$(dirname "$0")/../lib.sh"
example rounds
cp "$SOURCE/tests/e2e/programs/rounds.hip" .
cp rounds.hip before.hip
optimize() { rocm-perf optimize ./rounds --source rounds.hip --device software --timing detailed "$@"; }
untouched() { cmp -s rounds.hip before.hip || fail "the source was changed: $*"; }
valid() {
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/optimize.schema.json" "$1/optimize.json" >/dev/null ||
        fail "$1: JSON"
}

# A dry run builds and measures nothing.
expect 1 optimize --kernel both --max-iters 1 --dry-run -o dry
says out "undecided: not measured (--dry-run)"
valid dry
[ "$(json rounds.0.kernels.0.attempts.0.resources_after.vgprs dry/optimize.json)" -gt 0 ] || fail "it was not built"
for kind in confirmation application; do
    ! grep -q "\"kind\":\"$kind\"" dry/journal.jsonl || fail "--dry-run has a $kind"
done
! grep -q '"verdict"' dry/journal.jsonl || fail "--dry-run has compared"
[ ! -e rounds_opt.hip ] || fail "--dry-run has a result"
untouched "--dry-run"
expect 2 optimize --kernel both --max-iters 1 -o dry --resume
says err "was begun otherwise: --dry-run was given, is not given;"

# Two geometries. Unrolling by 2 helps the long loop and costs the short one less than the margin; by 4 it
# costs more, and is refused, though the whole would gain more. The session's time is over after the first
# candidate: what there is is told and accepted, and with more time the second one follows.
python3 "$SOURCE/tests/e2e/kill_behind.py" geometries/journal.jsonl attempt rocm-perf optimize ./rounds \
    --source rounds.hip --device software --timing detailed --kernel both --max-iters 2 --max-rounds 1 -o geometries \
    >out 2>err || { cat out err; fail "it was not killed"; }
expect 0 optimize --kernel both --max-iters 2 --max-rounds 1 -o geometries --resume --budget 0.001
cat >check.py <<'END'
import json, sys
kernel, = [k for k in json.load(open("geometries/optimize.json"))["rounds"][0]["kernels"] if k["name"].startswith("both")]
attempts = kernel["attempts"]
assert [a["outcome"] for a in attempts] == sys.argv[1:], attempts
long, short = "grid 1024x1x1", "grid 2048x1x1"
weights = {g["geometry"][:13]: g["time_ns"] for g in kernel["geometries"]}
assert set(weights) == {long, short} and weights[long] > 2 * weights[short] > 0, weights
assert kernel["geometries_time_share"] == 1
records = [json.loads(line)["record"] for line in open("geometries/journal.jsonl")]
records = [r["data"] for r in records if r["kind"] == "attempt"]
for number, (attempt, record) in enumerate(zip(attempts, records)):
    ratios = {c["geometry"][:13]: c["comparison"]["ratio"]["estimate"] for c in record["comparisons"]}
    assert ratios[long] > 1.2 and ((ratios[short] < 1 / 1.02) if number else 1 / 1.02 < ratios[short] < 1), ratios
    # Times add up: the whole is the sum of what both take.
    whole = sum(weights.values()) / sum(weights[g] / ratios[g] for g in weights)
    assert abs(whole - attempt["ratio"]["estimate"]) < 1e-4, (whole, attempt)
    assert attempt["outcome"] == "accepted" or attempt["reason"].startswith(short), attempt
assert len(attempts) < 2 or attempts[1]["ratio"]["low"] > attempts[0]["ratio"]["low"], attempts
END
python3 check.py accepted || fail "two geometries"
valid geometries
mv rounds_opt.hip in-time.hip
rm rounds_opt.patch
expect 0 optimize --kernel both --max-iters 2 --max-rounds 1 -o geometries --resume
python3 check.py accepted slower || fail "two geometries, with more time"
cmp in-time.hip rounds_opt.hip || fail "another result with more time"
untouched "--budget"
rm rounds_opt.hip rounds_opt.patch

# Two rounds. Without the right to mount, the disk is never full.
mkdir small
mounted=
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=16k none small 2>/dev/null; then
    mounted=1
    trap 'umount "$SCRATCH/small"; rm -rf "$SCRATCH"' EXIT
fi
rounds() { optimize --kernel 'most|next' --max-iters 1 --max-rounds 2 -o small/rounds "$@"; }
begun=
for size in ${mounted:+16k 300k 1400k}; do
    mount -o "remount,size=$size" small
    expect 4 rounds $begun
    [ "$(grep -c 'make space' err)" = 1 ] || { cat err; fail "$size: the message does not say that the disk is full"; }
    says err "go on with --resume"
    [ ! -e small/rounds/optimize.json ] || [ "$(json ended_by small/rounds/optimize.json)" = error ] ||
        fail "$size: a result"
    [ ! -e rounds_opt.hip ] || fail "$size: a result"
    untouched "a full disk, $size"
    [ ! -s small/rounds/journal.jsonl ] || begun=--resume
    cp small/rounds/journal.jsonl "journal-$size" 2>/dev/null || true
done
[ -z "$mounted" ] || mount -o remount,size=1g small
expect 0 rounds $begun
says out "2 accepted"
valid small/rounds
python3 - <<'END' || fail "two rounds"
import json
result = json.load(open("small/rounds/optimize.json"))
assert [(a["round"], a["kernel"].split("(")[0]) for a in result["accepted"]] == [(1, "most"), (2, "next")], result["accepted"]
first, second = ({k["name"].split("(")[0]: k for k in r["kernels"]} for r in result["rounds"])
assert first["most"]["weight"] > first["next"]["weight"] and second["most"]["weight"] < second["next"]["weight"]
assert "accepted before" in first["next"]["stop"] and "accepted before" in second["most"]["stop"]
# What was built in the second round has both changes; the first's time after is the second's before.
one, two = (a["program"] for a in result["accepted"])
assert one["program_after_ms"] == two["program_before_ms"] and two["kernel_after_ns"] < two["kernel_before_ns"]
assert result["program"]["before_ms"] == one["program_before_ms"] and result["program"]["after_ms"] == two["program_after_ms"]
END
[ "$(grep -c '#pragma unroll' rounds_opt.hip)" = 2 ] || fail "not both changes"
cp rounds_opt.hip by_patch.hip
patch -s -R by_patch.hip rounds_opt.patch
cmp by_patch.hip before.hip || fail "the patch does not lead back"
untouched "two rounds"
echo passed
