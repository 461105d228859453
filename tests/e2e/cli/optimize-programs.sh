# Programs that unrolling helps and others that it hurts: gains are accepted, harm is rejected, and
# both are checked by profiles of the whole program with each candidate, which the session's decision
# does not use. OPTIMIZE_PROGRAMS=all: all six with three candidates each, each session twice (several
# minutes); default: one of each kind with one candidate.
. "$(dirname "$0")/../lib.sh"
cp "$SOURCE"/tests/e2e/programs/unroll/*.hip "$SOURCE/examples/check.h" .

# What a kernel's dispatches take, ns.
kernel_ns() {
    expect 0 rocm-perf profile --device software --timing detailed --runs 1 --json -o "profile-$1" "./$1"
    python3 - out <<'END'
import json, sys
kernels = json.load(open(sys.argv[1]))["kernels"]
print(1e6 * sum(k["total_ms"] for k in kernels if not k["name"].startswith("__amd_rocclr")))
END
}

# session NAME FOLDER STATUS: as a user has it; what is accepted is built and right.
session() {
    rm -f "$1_opt.hip" "$1_opt.patch"
    expect "$3" rocm-perf optimize "./$1" --source "$1.hip" --device software --timing detailed --proposer unroll \
        --max-iters "$candidates" --max-rounds 1 -o "$2"
    cmp "$1.hip" "$SOURCE/tests/e2e/programs/unroll/$1.hip" || fail "$1: the source was changed"
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/optimize.schema.json" "$2/optimize.json" >/dev/null ||
        fail "$1: JSON"
}

# candidates FOLDER: number, outcome and ratio of each that was measured
measured() {
    python3 - "$1/optimize.json" <<'END'
import json, sys
kernels = json.load(open(sys.argv[1]))["rounds"][0]["kernels"]
for k in kernels:
    for a in k["attempts"]:
        if "ratio" in a:
            print(a["number"], a["outcome"].replace(" ", "_"), a["ratio"]["estimate"])
END
}

# check NAME FOLDER: outcomes are those of the profiles; prints the table
check() {
    local before after number outcome ratio
    before=$(kernel_ns "$1")
    measured "$2" >measured
    [ -s measured ] || fail "$1: nothing was measured"
    while read -r number outcome ratio; do
        cp "$2/round-1/kernel-1/candidate-$number.hip" "$1-$number.hip"
        expect 0 rocm-perf hipcc -O3 "$1-$number.hip" -o "$1-$number"
        after=$(kernel_ns "$1-$number")
        python3 - "$1" "$number" "$outcome" "$ratio" "$before" "$after" <<'END' || fail "$1: candidate $number is called $outcome"
import sys
name, number, outcome, ratio, before, after = sys.argv[1:]
profile, ratio = float(before) / float(after), float(ratio)
print(f"{name} {number}: {outcome}, {ratio:.4f} times as fast; in profiles {profile:.4f}")
if outcome in ("accepted", "faster"):  # the best is accepted, the others are faster
    assert profile > 1.01
elif outcome == "slower":
    assert profile < 1
elif outcome == "equal":
    assert profile < 1.03
else:
    assert False
END
    done <measured
}

# row NAME STATUS
row() {
    expect 0 rocm-perf hipcc -O3 "$1.hip" -o "$1"
    session "$1" "$1-first" "$2"
    if [ "$2" = 0 ]; then
        cp "$1_opt.hip" first.hip
        cp "$1_opt.patch" first.patch
        patch -s -R -o before.hip first.hip first.patch
        cmp before.hip "$1.hip" || fail "$1: the patch does not lead back"
    else
        [ ! -e "$1_opt.hip" ] || fail "$1: a result that nobody accepted"
    fi
    check "$1" "$1-first"
    [ "${OPTIMIZE_PROGRAMS:-}" = all ] || return 0
    session "$1" "$1-second" "$2"
    cmp "$1-first/optimize.json" "$1-second/optimize.json" || fail "$1: not the same twice"
    [ "$2" != 0 ] || { cmp first.hip "$1_opt.hip" && cmp first.patch "$1_opt.patch"; } ||
        fail "$1: not the same result twice"
}

candidates=1
if [ "${OPTIMIZE_PROGRAMS:-}" = all ]; then
    candidates=3
    row strided_sum 0
    row softmax_rows 0
    row small_gemm 1
    row tree_sum 1
fi
row latency 0
row stencil 1
echo passed
