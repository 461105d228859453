# run --check: labelled kernels with and without races, what is printed and written, exit statuses.
. "$(dirname "$0")/../lib.sh"
hipcc() {
    rocm-perf hipcc -g -O3 --offload-arch="$1" -cuid=checked "$SOURCE/tests/e2e/programs/$2.hip" -o "$2.$1" >&2 || fail "cannot compile $2"
}

# The labels: nothing may be missed or false for gfx942; of gfx90a instructions tell less (docs/check.md).
hipcc gfx942 checked_races
expect 1 rocm-perf run --device software --check races --check-output found.json ./checked_races.gfx942
mv out names
says err "check: "
says err "race in LDS of racy_reverse(int*, int*, unsigned int*)"
python3 "$SOURCE/tests/e2e/cli/check_labels.py" found.json names || fail "labels of gfx942"
cp found.json once.json
expect 1 rocm-perf run --device software --check races --check-output found.json ./checked_races.gfx942
python3 - <<'END' || fail "the same findings every time"
import json
a, b = (json.load(open(name)) for name in ("once.json", "found.json"))
for one in (a, b):
    for finding in one["findings"] + one["notes"]:
        if finding["memory"] == "global":
            finding["address"] -= (finding["buffer"] or {"address": 0})["address"]
            finding["buffer"] = None
assert a == b
END
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/check.schema.json" found.json || fail "schema"

hipcc gfx90a checked_races
expect 1 rocm-perf run --device software:gfx90a --check races --check-output found90.json ./checked_races.gfx90a
mv out names
python3 "$SOURCE/tests/e2e/cli/check_labels.py" found90.json names \
    racy_atomic_and_plain racy_load_and_store racy_ticket_no_fence racy_ticket_fence_late racy_ticket_first \
    racy_ticket_group_fence || fail "labels of gfx90a"

# Bounds and unwritten memory.
for target in gfx942 gfx90a; do
    hipcc $target checked_memory
    expect 1 rocm-perf run --device software:$target --check bounds,uninit --check-output memory.json ./checked_memory.$target
    mv out names
    says err "0 bytes behind the end of a buffer of 4000 bytes: outside of what was allocated"
    says err "read of what nothing has written in LDS of unset_lds(arguments)"
    says err "read of what nothing has written in private memory of unset_local(arguments)"
    python3 "$SOURCE/tests/e2e/cli/check_labels.py" memory.json names || fail "labels of memory, $target"
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/check.schema.json" memory.json || fail "schema"
done

# One kernel alone, with the lines of both accesses.
expect 1 rocm-perf run --device software --check races ./checked_races.gfx942 racy_waves_share
line=$(grep -n 'b\[I\] = s\[I ^ 64\]' "$SOURCE/tests/e2e/programs/checked_races.hip" | head -n 1)
says err "check: 1 finding (races)"
says err "checked_races.hip:${line%%:*}"
says err "no barrier between them"
expect 0 rocm-perf run --device software --check races --check-output clean.json ./checked_races.gfx942 clean_reverse
says err "check: nothing found (races)"
[ "$(json verdict clean.json)" = clean ] || fail "verdict"

# The program's own status goes first; without a kernel nothing was checked.
expect 2 rocm-perf run --check race ./checked_races.gfx942
says err "use races, uninit, bounds, or several with commas"
expect 2 rocm-perf run --check-output found.json ./checked_races.gfx942
expect 2 rocm-perf run --check races --device gpu ./checked_races.gfx942
expect 3 rocm-perf run --device software --check races -- sh -c 'exit 3'
says err "no kernel ran"
expect 4 rocm-perf run --device software --check races --check-output /nowhere/found.json ./checked_races.gfx942
expect 7 rocm-perf run --device software --check races --check-output failed.json -- sh -c './checked_races.gfx942 clean_reverse; exit 7'
says err "check: nothing found until the program failed (races)"
[ "$(json verdict failed.json)" = incomplete ] || fail "verdict of a program that failed"
