# replay --check: a candidate is wrong for what it does to memory, if that for whose place it is made does not do it, too.
. "$(dirname "$0")/../lib.sh"
export ROCM_PERF_DEVICE_TIMING=counts
source=$SOURCE/tests/e2e/programs/checked_candidates.hip
rocm-perf hipcc -O3 --offload-arch=gfx942 "$source" -o program >&2 || fail "cannot compile"
for number in 0 1 2 3 4 5 6 7 8; do
    rocm-perf hipcc --genco -O3 --offload-arch=gfx942 -DCANDIDATE=$number "$source" -o $number.hsaco >&2 || fail "cannot compile $number"
done
expect 0 rocm-perf isolate --kernel '^total' --device software -o cap ./program
compared() {
    local status=$1
    shift
    expect "$status" rocm-perf replay compare 0.hsaco "$@" --capture-dir cap --inputs none
}

# What the base does as well condemns nobody.
for number in 0 1 2; do
    compared 0 $number.hsaco --json
    [ "$(json checks.checked out)" = races,uninit,bounds ] || { cat out; fail "$number was not checked"; }
    [ "$(json checks.base_findings out)" -gt 0 ] || { cat out; fail "the base's own race"; }
    [ "$(json checks.new out)" = "[]" ] || { cat out; fail "$number is honest"; }
done
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/replay_compare.schema.json" out || fail "JSON"

# wrong NUMBER KIND WHY: right by its output, and wrong by what was found.
wrong() {
    compared 1 "$1.hsaco" --json
    [ "$(json verdict out)" = "different output" ] || { cat out; fail "verdict of $1"; }
    [ "$(json b.wrong_runs out)" = 0 ] || { cat out; fail "$1 was to be right by its output"; }
    [ "$(json checks.new.0.kind out)" = "$2" ] || { cat out; fail "kind of $1"; }
    [[ "$(json reason out)" == *"B does what A does not: "*"$3"* ]] || { cat out; fail "reason of $1"; }
}
wrong 3 race "it was not complete (no fence) when its workgroup released it"
wrong 4 lost-update "a load and a store are no atomic update"
wrong 5 race "no fence"
wrong 6 race "the second one is not behind an acquire"
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/replay_compare.schema.json" out || fail "JSON of a wrong one"
# What atomics do: 7 has no race, as only one workgroup comes there, and 8 none on one GPU.
for number in 7 8; do
    compared 1 $number.hsaco --json
    [ "$(json checks.new out)" = "[]" ] || { cat out; fail "$number has no race"; }
    [ "$(json checks.atomics.addresses out)" = 1 ] || { cat out; fail "one address of $number"; }
    [[ "$(json reason out)" == *"memory that atomics of A update is "* ]] || { cat out; fail "reason of $number"; }
done
[[ "$(json reason out)" == *"is updated by atomics of a narrower scope in B (1 address, first 0x"* ]] || { cat out; fail "narrower"; }
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/replay_compare.schema.json" out || fail "JSON of atomics"
compared 1 7.hsaco
says out "at 1 address, first 0x"
compared 1 3.hsaco
says out "B is wrong; not timed: with the captured inputs, B does what A does not: race in memory"
says out "checked: races,uninit,bounds, 1 in A, 2 in B"
says out "1. race in memory of kernel of 3.hsaco"
compared 1 3.hsaco --gate not-slower
compared 0 3.hsaco --check none --json
[ "$(json checks out)" = null ] || { cat out; fail "nothing was to be checked"; }
compared 0 3.hsaco --check bounds
says out "checked: bounds, nothing in A, nothing in B"

# One kernel in place of the captured one, and that one alone: only where it is asked for.
replayed() {
    local status=$1
    shift
    expect "$status" rocm-perf replay full-vm --capture-dir cap "$@"
}
replayed 0 --hsaco 3.hsaco --inputs none
replayed 1 --hsaco 3.hsaco --inputs none --check races
says out "checked: races, 1 in the captured kernel, 2 in it"
replayed 0 --hsaco 1.hsaco --inputs none --check races,bounds
replayed 1 --check races --json
[ "$(json checks.findings out)" = 1 ] || { cat out; fail "the captured kernel's own race"; }
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/replay.schema.json" out || fail "JSON of full-vm"
replayed 0 --check bounds
expect 2 rocm-perf replay full-vm --capture-dir cap --check race
says err "use races, uninit, bounds, waits, or several with commas"
expect 2 rocm-perf replay full-vm --capture-dir cap --check races,bounds,races
says err "races is there twice"
expect 2 rocm-perf replay full-vm --capture-dir cap --check races --device gpu
says err "--check is done by the software MI300X"
