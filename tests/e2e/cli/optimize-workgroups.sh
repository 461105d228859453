# Workgroups that leave lanes of their waves empty: a constant of the source gets another value, and the kernel is compared
# on its captured dispatches as the program launches it then.
. "$(dirname "$0")/../lib.sh"
cp "$SOURCE/tests/e2e/programs/few_lanes.hip" "$SOURCE/tests/e2e/programs/fixed_sum.hip" .
expect 0 rocm-perf hipcc -O3 -g few_lanes.hip -o few_lanes
title="workgroups of 256 work-items in place of 16 (ROWS 16 in place of 1)"

optimize()
{
    env -u ROCM_PERF_DEVICE_TIMING rocm-perf optimize --device software --max-iters 1 --max-rounds 1 "$@"
}

# It is shown without being tried.
expect 1 optimize ./few_lanes --dry-run -o dry
says out "$title: undecided: not measured (--dry-run)"

# What was captured of the program with another constant is as large as its memory.
nothing_left()
{
    [ -z "$(find "$1" -name '*.launche*')" ] || { find "$1" -name '*.launche*'; fail "captures are left"; }
}

# The other kernel that takes the constant is compared, too.
expect 0 optimize ./few_lanes
says err "fill(float*, float) is changed as well: it is compared, too"
says out "$title: accepted"
nothing_left optimize_result
cp optimize_result/optimize.json whole.json
sed '/^enum { ROWS = 1 };/s/1/16/' few_lanes.hip | cmp - few_lanes_opt.hip || fail "another change"
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/optimize.schema.json" whole.json >/dev/null || fail "JSON"
python3 - whole.json <<'END' || fail "what changed"
import json, sys
change, = json.load(open(sys.argv[1]))["accepted"]
assert change["launch"] == {"constant": "ROWS", "line": 7, "before": 1, "after": 16, "work_items_before": 16,
                            "work_items": 256}, change["launch"]
assert change["ratio"]["low"] > 1.2, change["ratio"]
untried = {entry["inputs"] for entry in change["not_tried"]}
assert "workgroup" in untried and not {"half_grid", "odd_grid", "one_group"} & untried, untried
END

# A session that ended behind its proposal, or behind its attempt, goes on to the same result. What it has captured then need
# not be complete.
cp optimize_result/journal.jsonl journal
for kind in proposal attempt; do
    rm few_lanes_opt.* optimize_result/journal.jsonl.head
    line=$(grep -n "\"$kind\"" journal | head -1 | cut -d: -f1)
    head -n "$line" journal >optimize_result/journal.jsonl
    for hsaco in optimize_result/round-1/kernel-*/candidate-*.hsaco; do
        mkdir "$hsaco.launches" "$hsaco.launches/own"
    done
    expect 0 optimize ./few_lanes --resume
    cmp whole.json optimize_result/optimize.json || fail "behind the $kind: the resumed session says something else"
    nothing_left optimize_result
done
expect 0 optimize ./few_lanes --resume --apply
grep -q '^enum { ROWS = 16 };' few_lanes.hip || fail "not applied"

# A kernel for workgroups of one size is wrong with others, though the program prints the same.
expect 0 rocm-perf hipcc -O3 -g fixed_sum.hip -o fixed_sum
expect 1 optimize ./fixed_sum -o fixed
says out "workgroups of 256 work-items in place of 16 (THREADS 256 in place of 16): wrong"
nothing_left fixed

# One that prints nothing has nothing by which its host code could be judged.
sed '/puts/d' fixed_sum.hip >silent.hip
expect 0 rocm-perf hipcc -O3 -g silent.hip -o silent
expect 1 optimize ./silent -o silent.result
says out "(THREADS 256 in place of 16): refused: the program prints nothing"
