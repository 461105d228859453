# Code objects that are not as hipcc makes them: two metadata notes, symbols without sizes, kernels of one name.
. "$(dirname "$0")/../lib.sh"
: "${ROCM_PERF_ROCM:?the private ROCm}"
export ROCM_PERF_DEVICE_TIMING=detailed # counts compare as intervals
programs=$SOURCE/tests/e2e/programs/code_objects
bin=$(ls -d "$ROCM_PERF_ROCM"/usr/lib/llvm-*/bin | tail -1)
assemble() { "$bin/clang" -x assembler -target amdgcn-amd-amdhsa -mcpu=gfx942 "$@" || fail "assemble $*"; }
genco() { rocm-perf hipcc -O2 --genco --offload-arch=gfx942 "$programs/jit.hip" -o "$@" || fail "compile $*"; }
for k in first second; do
    rocm-perf hipcc -O2 --cuda-device-only --offload-arch=gfx942 -S "$programs/$k.hip" -o $k.s || fail "compile $k"
    assemble -c $k.s -o $k.o
done
"$bin/ld.lld" -shared first.o second.o -o notes.hsaco || fail 'link'
[ "$("$bin/llvm-readelf" --notes notes.hsaco | grep -c amdhsa.kernels)" = 2 ] || fail 'there are not two notes'
sed -i '/^\t\.size/d' second.s
assemble second.s -o sizes.hsaco
genco light.co
genco added.co -DADDED=5
genco helped.co -DHELPED
genco heavy.co -DHEAVY
cp light.co again.co
rocm-perf hipcc "$programs/load.hip" -o load || fail 'compile load'
example halfname

profile() { # FOLDER OPTION... -- ARGUMENT...
    local folder=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    expect 0 rocm-perf profile --device software -o "$folder" "${options[@]}" ./load "$@"
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" "$folder/profile.json" >/dev/null ||
        fail "$folder: profile.json is not as its schema says"
}
# names FILE: sorted names of the program's kernels, with their calls and times of runs.
names() {
    python3 - "$1" <<'END'
import json, re, sys
rows = json.load(open(sys.argv[1]))["kernels"]
print(*sorted(re.sub("[0-9a-f]{8}\\]", "#]", f'{k["name"]} {k["calls"]}') for k in rows if k["name"][:5] != "__amd"), sep="\n")
END
}
is() { [ "$1" = "$2" ] || fail "$3: '$1' instead of '$2'"; }
two='triton_k [code #] 2
triton_k [code #] 3'

# --- two metadata notes: registers and arguments of the second kernel
expect 0 rocm-perf isolate --kernel second --device software -o capture ./load notes.hsaco second 1
is "$(python3 -c 'print(int.from_bytes(open("capture/kernarg.bin", "rb").read()[8:12], "little"))')" 71 'arguments'
expect 0 rocm-perf isolate verify capture
expect 0 rocm-perf replay full-vm --capture-dir capture
profile notes --runs 1 -- notes.hsaco second 1
is "$(json kernels.0.symbol notes/profile.json)" second 'notes'
[ "$(json kernels.0.resources.vgpr_per_thread notes/profile.json)" -gt 0 ] || fail 'registers'

# --- no sizes: a thread trace names the kernel by its descriptor
profile sizes --runs 1 --deep-analysis -- sizes.hsaco second 1
is "$(json thread_trace.0.kernel sizes/thread_trace.json)" second 'no sizes'
says out 'second'
! grep -q 'unknown kernel' out || fail 'unknown kernel'

# --- names
expect 0 rocm-perf profile --device software --runs 1 -o half ./halfname
is "$(python3 -c '
import json
print(*sorted(k["name"].split("(")[0] for k in json.load(open("half/profile.json"))["kernels"] if "scale" in k["name"]), sep="; ")')" \
    'void scale<_Float16>; void scale<__hip_bfloat16>; void scale<std::bfloat16_t>' 'demangled'
expect 0 rocm-perf isolate --no-self-check --kernel 'scale<_Float16>' --device software -o scaled ./halfname
expect 0 rocm-perf isolate verify scaled

# --- kernels of one name: two everywhere; registers differ, a constant, a function that is called
pair() { # NAME FILE
    profile "$1" --runs 2 -- light.co triton_k 3 "$2" triton_k 2
    is "$(names "$1/profile.json")" "$two" "profile of $1"
}
pair helped helped.co
pair added added.co
profile heavy --runs 2 --deep-analysis -- light.co triton_k 3 heavy.co triton_k 2
is "$(names heavy/profile.json)" "$two" 'profile'
is "$(names heavy/analysis.json)" "$two" 'ranked, and nothing else of that name'
is "$(python3 -c '
import json
print(*[k["thread_traces"]["used"] for k in json.load(open("heavy/analysis.json"))["kernels"] if "triton" in k["name"]])')" '1 1' 'thread traces'
is "$(python3 -c '
import json
p = {k["name"]: k for k in json.load(open("heavy/profile.json"))["kernels"]}
traces = sorted(json.load(open("heavy/thread_trace.json"))["thread_trace"], key=lambda t: t["dispatch"])
print(*[p[t["kernel"]]["calls"] for t in traces], len(traces[0]["instructions"]) < len(traces[1]["instructions"]))')" \
    '3 2 True' 'each thread trace is of its own kernel: the light one was launched first'
is "$(python3 -c '
import json
print(*[k["counters"] is not None for k in json.load(open("heavy/profile.json"))["kernels"] if "triton" in k["name"]])')" 'True True' 'counters of each'
for folder in heavy added; do
    expect 0 rocm-perf analyze -v $folder
    is "$(sed -n 's/^ *\(triton_k \[code [0-9a-f]*\]\): 2x faster .*/\1/p' out | sort -u | wc -l)" 2 "analyze $folder"
    expect 0 rocm-perf report --format csv -o report.csv $folder
    is "$(grep -c '^triton_k \[code' report.csv)" 2 "report of $folder"
    is "$(grep -c '^triton_k,' report.csv || true)" 0 "report of $folder: nothing else of that name"
done
# Each is isolated by the name that tells it apart, also the one whose registers are the other's.
python3 -c '
import json
for k in json.load(open("added/profile.json"))["kernels"]:
    if "triton" in k["name"]:
        print(k["name"])' >apart
is "$(wc -l <apart)" 2 'two names'
while read -r name; do
    rm -rf one
    expect 0 rocm-perf isolate --no-self-check --kernel "$name" --device software -o one ./load light.co triton_k 3 added.co triton_k 2
    sha256sum <one/kernel.hsaco >>codes
done <apart
is "$(sort -u codes | wc -l)" 2 'isolate: two codes'
expect 1 rocm-perf isolate --kernel 'triton_k [code 00000000]' --device software -o none ./load light.co triton_k 1
expect 0 rocm-perf compare added added --gate 'kernel:triton_k:runtime<=1'
is "$(grep -c 'triton_k \[code' out)" 3 'compare: two kernels, and one that the gate names'
expect 0 rocm-perf compare added added/trace_results.db
is "$(grep -c '^equal .*triton_k \[code' out)" 2 'compare with the trace'
expect 0 rocm-perf history add --db h.db --commit a --program p added
expect 0 rocm-perf history add --db h.db --commit b --program p added
expect 0 rocm-perf history show --db h.db --program p
is "$(grep -o 'triton_k \[code [0-9a-f]*\]' out | sort -u | wc -l)" 2 'history'
expect 0 rocm-perf isolate --no-self-check --representative --kernel triton_k --device software -o captures \
    ./load light.co triton_k 3 added.co triton_k 2 again.co triton_k 1
is "$(ls captures | wc -l)" 2 'isolate --representative'

# --- the same code stays one: loaded twice, and in two processes
profile same --runs 1 -- light.co triton_k 3 again.co triton_k 2
is "$(names same/profile.json)" 'triton_k 5' 'loaded twice'
# --- each run, or process, loads one of them
LOAD_TURN=$PWD/turn profile turns --runs 3 -- light.co triton_k 3 added.co triton_k 2
is "$(python3 -c '
import json, re
p = json.load(open("turns/profile.json"))
rows = [k for k in p["kernels"] + p["repeat_kernels"] if "triton" in k["name"]]
print(len({k["name"] for k in rows}), *[[m is not None for m in k["runs_ms"]] for k in rows])')" \
    '2 [True, False, True] [False, True, False]' 'runs that load one each'
printf '#!/bin/sh\n./load light.co triton_k 3 && ./load added.co triton_k 2\n' >both
chmod +x both
expect 0 rocm-perf profile --device software --runs 1 -o processes ./both
is "$(names processes/profile.json)" "$two" 'processes that load one each'
expect 0 rocm-perf compare added processes
is "$(grep -c '^equal .*triton_k \[code' out)" 2 'the same two, however they are loaded'
# --- a result that has one of them
profile light --runs 2 -- light.co triton_k 3
is "$(names light/profile.json)" 'triton_k 3' 'one alone'
expect 0 rocm-perf compare light added
grep -q '^equal .*triton_k' out || fail 'the kernel that both have'
says out 'only after  triton_k [code'
profile changed --runs 2 -- helped.co triton_k 3
expect 0 rocm-perf compare light changed
! grep -q 'only' out || fail 'a kernel whose code has changed is the same one'
