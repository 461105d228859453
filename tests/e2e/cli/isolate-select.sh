# Which dispatches are captured, and where they go.
. "$(dirname "$0")/../lib.sh"
example memories
export ROCM_PERF_DEVICE_TIMING=off

# The program says what its eight dispatches are.
chooses() { # STATUS WHERE OPTION...
    local status=$1 where=$2
    shift 2
    rm -rf "$where"
    expect "$status" rocm-perf isolate --no-self-check --kernel target_shape --device software -o "$where" "$@" ./memories shapes .
}
chooses 0 all --representative
[ "$(ls all | tr '\n' ' ')" = "dispatch-1 dispatch-2 dispatch-4 dispatch-7 dispatch-8 " ] || { ls all; fail "geometries"; }
says out "all/dispatch-7  target_shape(unsigned int*, unsigned int)  dispatch 7  grid 512x2x1"
for one in all/*; do
    expect 0 rocm-perf isolate verify "$one"
    [ "$(json dispatch.dispatch_id "$one/dispatch.json")" -ge "${one##*-}" ] || fail "$one: another dispatch"
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/capture_dispatch.schema.json" "$one/dispatch.json" >/dev/null ||
        fail "$one: dispatch.json is not as its schema says"
done
chooses 0 two --representative --most 2 --grid 1024
[ "$(ls two | tr '\n' ' ')" = "dispatch-1 dispatch-3 " ] || { ls two; fail "two geometries"; }
says err "2 geometries are captured; if there are more, --most says how many"
chooses 1 some --dispatch 8,2 --dispatch 9
says err "not captured: dispatch 9 of those that match target_shape: the program made fewer"
expect 0 rocm-perf isolate --list some
[ "$(cut -d' ' -f1 out | tr '\n' ' ')" = "some/dispatch-2 some/dispatch-8 " ] || fail "two of three"
expect 3 rocm-perf isolate inspect some
says err "some holds dispatch-2 and dispatch-8: name one of them, as in some/dispatch-2"
# Interrupted: what is whole is named.
expect 130 rocm-perf isolate --no-self-check --kernel target_shape --dispatch 1,2,99 --device software -o cut \
    sh -c './memories shapes .; kill -INT $PPID; sleep 2'
says err "interrupted by SIGINT; whole and kept, but not replayed: cut/dispatch-1"
[ "$(sed -n 's/.*not replayed: //p' err)" = "$(printf '%s, ' cut/* | sed 's/, $//')" ] || { cat err; ls cut; fail "kept"; }
for one in cut/*; do
    expect 0 rocm-perf isolate verify "$one"
done
chooses 0 one --grid 1024x1 --stream 2
[ "$(json dispatch.match one/dispatch.json) $(json dispatch.stream one/dispatch.json)" = "1 2" ] || fail "stream"
expect 0 rocm-perf isolate inspect --json one
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/capture.schema.json" out >/dev/null || fail "inspect --json"
[ "$(json dispatch.stream out) $(json gpu.number out)" = "2 0" ] || fail "inspect: stream"
expect 0 rocm-perf isolate inspect one
says out ", HIP stream 2, GPU 0"
queue=$(json dispatch.queue one/dispatch.json)
chooses 0 other --queue "$queue" --workgroup 64
[ "$(json dispatch.dispatch_id other/dispatch.json)" = "$(json dispatch.dispatch_id one/dispatch.json)" ] || fail "queue"
chooses 0 last --workgroup 128 --gpu 0 --dispatch 2
[ "$(json dispatch.grid last/dispatch.json)" = "[1024, 1, 1]" ] || fail "workgroup"
chooses 2 none --gpu 1
says err "rocm-perf: --gpu 1: there is one GPU, number 0 (--gpus says how many)"
chooses 1 none --gpu 1 --queue 77 --gpus 2
says err "rocm-perf: --gpu 1: dispatches of such kernels were on gpu 0"
says err "rocm-perf: --queue 77: dispatches of such kernels were on queue $(json dispatch.queue some/dispatch-2/dispatch.json)"
chooses 1 none --grid 512,2 --workgroup 8
says err "no dispatch that matches target_shape and the other options; those of other kinds"
[ "$(grep -c "^rocm-perf:   grid " err)" = 5 ] || { cat err; fail "kinds that came: one more than geometries without LDS"; }
says err "grid 1024x1x1  workgroup 128x1x1  queue $(json dispatch.queue some/dispatch-2/dispatch.json)  stream 1  gpu 0"
ROCM_PERF_DEVICE_GPUS=2
export ROCM_PERF_DEVICE_GPUS
expect 0 rocm-perf isolate --no-self-check --kernel target_scale --gpu 1 --device software -o second ./memories peer .
expect 1 rocm-perf isolate --no-self-check --kernel target_scale --gpu 0 --device software -o none ./memories peer .
unset ROCM_PERF_DEVICE_GPUS
[ ! -e none ] || fail "a folder of nothing"
# A capture that was damaged meanwhile does not hide the others; each process counts its dispatches; while
# one writes, another one is told so; what killed ones have left in $TMPDIR goes, but not what is in use.
mkdir -p scratch/rocm-perf-capture-killed scratch/rocm-perf-capture-in-use scratch/rocm-perf-capture-locked scratch/rocm-perf-capture-latest
touch scratch/rocm-perf-capture-killed/socket
for one in killed locked; do touch -d '1 hour ago' scratch/rocm-perf-capture-$one; done
exec 8<scratch/rocm-perf-capture-locked
flock 8
TMPDIR=$PWD/scratch expect 3 rocm-perf isolate --no-self-check --kernel target_shape --dispatch 1,2,9 --device software -o harmed sh -c '
    ./memories shapes . >/dev/null
    until [ -e harmed/dispatch-2/dispatch.json ]; do sleep 0.05; done
    rm harmed/dispatch-1/dispatch.json
    rocm-perf isolate --kernel x --device software -o "$PWD/harmed/" true 2>told
    echo "told $?"
    ./memories shapes .'
exec 8<&-
says out "told 2"
says told "rocm-perf: $PWD/harmed is being written by another rocm-perf at this moment"
says err "harmed/dispatch-1"
says out "harmed/dispatch-2  target_shape"
says err "not captured: dispatch 9 of those that match target_shape: 2 processes used the GPU, each counts its own"
[ "$(cd scratch && echo *)" = "rocm-perf-capture-in-use rocm-perf-capture-latest rocm-perf-capture-locked" ] || { ls -l scratch; fail "scratch"; }
# Where the arguments lie: the two of the program, and those that the runtime adds (code object V5, LLVM's
# AMDGPU user guide: the block counts are 32-bit numbers behind the last argument, aligned to 8).
python3 - one/dispatch.json one/kernarg.bin <<'END' || { cat one/dispatch.json; fail "arguments"; }
import json, struct, sys
d, bytes_ = json.load(open(sys.argv[1])), open(sys.argv[2], "rb").read()
args = d["kernarg"]["arguments"]
assert [(a["offset"], a["bytes"], a["kind"], a["address_space"]) for a in args if not a["hidden"]] == \
    [(0, 8, "global_buffer", "global"), (8, 4, "by_value", None)]
at = {a["kind"]: a for a in args if a["hidden"]}
for axis, count, size in zip("xyz", (16, 1, 1), (64, 1, 1)):
    a = at["hidden_block_count_" + axis]
    assert a["bytes"] == 4 and struct.unpack_from("<I", bytes_, a["offset"])[0] == count
    a = at["hidden_group_size_" + axis]
    assert a["bytes"] == 2 and struct.unpack_from("<H", bytes_, a["offset"])[0] == size
assert at["hidden_block_count_x"]["offset"] == 16
END
# Three threads come to dispatches that are wanted at the same time; the program checks its own results.
ROCM_PERF_TOOL_DEBUG=$SCRATCH/with expect 0 rocm-perf isolate --no-self-check --kernel '^other' --dispatch 5,6,7,8 --device software -o crowd ./memories streams .
leaked() { sed -n 's/.*SharedSignalPool, \([0-9]*\) Signals leaked.*/\1/p' "$1"; }
for i in 5 6 7 8; do
    expect 0 rocm-perf isolate verify crowd/dispatch-$i
done
# HIP leaves signals to the end, of which ROCr tells the debug log; there are none of the tool's among them.
ROCM_PERF_TOOL_DEBUG=$SCRATCH/without expect 0 rocm-perf run --device software ./memories streams .
with=$(leaked with) without=$(leaked without)
[ -n "$without" ] || fail "ROCr does not tell how many signals are left"
[ "${with:-0}" -le "$without" ] || fail "$with signals are left, without a capture $without"
# Two runs: the times are those of the first one.
ROCM_PERF_DEVICE_TIMING=counts chooses 0 long --longest
says err "first run: dispatch 5 of 8 is the longest"
[ "$(json dispatch.match long/dispatch.json)" = 5 ] || fail "the longest"
ROCM_PERF_DEVICE_TIMING=counts expect 1 rocm-perf isolate --longest --kernel target_scale --device software -o no \
    sh -c './memories arith . & ./memories arith .; wait'
says err "several processes have dispatches that match"
expect 2 rocm-perf isolate --longest --kernel x --device software -o no true
says err "--longest needs times"
echo passed
