# Workgroups and waves in another order: told by the environment, and tried by replay.
. "$(dirname "$0")/../lib.sh"
example orders
export ROCM_PERF_DEVICE_TIMING=off

# The line of each workgroup, then the workgroups.
expect 0 rocm-perf run --device software ./orders
mv out forward
[ "$(sed -n 1p forward)" = "0 1 2 3" ] || { cat forward; fail "forward"; }
expect 0 env ROCM_PERF_DEVICE_ORDER=forward rocm-perf run --device software ./orders
cmp -s out forward || fail "forward is the default"
expect 0 env ROCM_PERF_DEVICE_ORDER=reversed rocm-perf run --device software ./orders
[ "$(sed -n 1p out)" = "3 2 1 0" ] || { cat out; fail "waves in reversed order"; }
[ "$(tail -n 2 out | xargs)" = "5 4 3 2 1 0" ] || { cat out; fail "workgroups in reversed order"; }
expect 0 env ROCM_PERF_DEVICE_ORDER=shuffled:3 rocm-perf run --device software ./orders
mv out shuffled
! cmp -s shuffled forward || fail "shuffled"
[ "$(tail -n 2 shuffled | xargs -n 1 | sort | xargs)" = "0 1 2 3 4 5" ] || { cat shuffled; fail "each once"; }
expect 0 env ROCM_PERF_DEVICE_ORDER=shuffled:3 ROCM_PERF_DEVICE_THREADS=1 rocm-perf run --device software ./orders
cmp -s out shuffled || fail "the same with one thread"
# A workgroup comes between the load and the store of another, the same way each time.
expect 0 rocm-perf run --device software ./orders plain
[ "$(cat out)" = 40 ] || { cat out; fail "workgroups one after the other"; }
expect 0 env ROCM_PERF_DEVICE_ORDER=interleaved:1 rocm-perf run --device software ./orders plain
[ "$(cat out)" -lt 40 ] || { cat out; fail "workgroups between each other"; }
mv out interleaved
for threads in 1 2 4; do
    expect 0 env ROCM_PERF_DEVICE_ORDER=interleaved:1 ROCM_PERF_DEVICE_THREADS=$threads rocm-perf run --device software ./orders plain
    cmp -s out interleaved || { cat out interleaved; fail "the same with $threads threads"; }
done
for value in backward shuffled interleaved interleaved:0 shuffled:0 shuffled:1000001 "shuffled: 3" 1; do
    expect 2 env ROCM_PERF_DEVICE_ORDER="$value" rocm-perf run --device software ./orders
    says err "use forward, reversed, shuffled:N or interleaved:N"
done
# Times by detailed replay of recorded waves, of which the last workgroups are partial ones.
expect 0 env ROCM_PERF_DEVICE_ORDER=reversed ROCM_PERF_DEVICE_TIMING=detailed rocm-perf run --device software ./orders

made() {
    rocm-perf hipcc --genco --offload-arch=gfx942 -DCANDIDATE="$2" "$SOURCE/tests/e2e/programs/orders.hip" -o "$1.hsaco" >&2 ||
        fail "cannot compile $1"
}
made race 1
made plain 2
made other 3
for kernel in rounds counts rows sums; do
    expect 0 rocm-perf isolate --kernel "^$kernel" --device software -o "$kernel" ./orders
done
replayed() {
    local status=$1 capture=$2
    shift 2
    expect "$status" rocm-perf replay full-vm --capture-dir "$capture" "$@"
}
# Right in the order of the device, and a race.
replayed 1 rounds --hsaco race.hsaco
says out "memory is right after all"
says out "with wavefronts in another order (6 workgroups) it does not give what the captured kernel gives"
replayed 0 rounds --hsaco rounds/kernel.hsaco --json
[ "$(json candidate.other_inputs.reversed.tried out)" = true ] || { cat out; fail "another order is tried"; }
[ "$(json candidate.other_inputs.shuffled.tried out)" = true ] || { cat out; fail "turns are shuffled"; }
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/replay.schema.json" out >/dev/null || fail "JSON"
# A wave comes between the load and the store of another.
replayed 1 counts --hsaco plain.hsaco
says out "memory is right after all"
says out "with wavefronts that take short turns"
# It adds up another half of the numbers in workgroups of half the size, for which the captured kernel is not made.
replayed 0 counts --hsaco other.hsaco --json
[ "$(json candidate.other_inputs.workgroup.tried out)" = false ] || { cat out; fail "a size that is built in"; }
# Another width makes a race of what is none: which write is the last says nothing of another kernel then.
replayed 0 rows --hsaco rows/kernel.hsaco --json
[ "$(json candidate.other_inputs.arguments.tried out)" = false ] || { cat out; fail "arguments that make a race"; }
says out "depends on the order of its wavefronts, or on what it has not written, then"
[ "$(json candidate.other_inputs.integers.tried out)" = true ] || { cat out; fail "other values make none"; }
# What a sum differs from itself by in other orders is what another may be off by.
replayed 0 sums --hsaco other.hsaco --json
python3 - out <<'EOF' || { cat out; fail "sums in any order"; }
import json, re, sys
c = json.load(open(sys.argv[1]))["candidate"]
assert re.fullmatch("f32,ulp=([0-9]+),normal", c["compare"]) and c["compare_runs"] == 6, c
EOF
