# The three outputs of profile agree with each other, with the schema and with the trace.
. "$(dirname "$0")/../lib.sh"
export ROCM_PERF_DEVICE_TIMING=detailed # counts compare as intervals
example vector_add
expect 0 rocm-perf profile --device software ./vector_add
says out 'vector_add: PASS'
[ "$(grep -c 'vector_add: PASS' out)" = 1 ] || fail "the program's output appears more than once"
says out 'SOFTWARE DEVICE'
[ -f .rocpd_profile/profile.json ] || fail 'no profile.json'
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" \
    .rocpd_profile/profile.json
[ "$(json device .rocpd_profile/profile.json)" = software ] || fail device
[ "$(json stability.runs .rocpd_profile/profile.json)" = 3 ] || fail runs
[ "$(json stability.cv .rocpd_profile/profile.json)" = 0.0 ] || fail 'modelled times differ between runs'
json kernel.name .rocpd_profile/profile.json | grep -q vector_add || fail 'dominant kernel'

# The runtime is the sum over the base trace, by the trace's own rows.
sum=$(sqlite3 .rocpd_profile/trace_results.db 'select printf("%.6f", sum("end" - start) / 1e6) from rocpd_kernel_dispatch')
[ "$(printf '%.6f' "$(json runtime_ms .rocpd_profile/profile.json)")" = "$sum" ] ||
    fail "runtime_ms is $(json runtime_ms .rocpd_profile/profile.json), the trace says $sum"
sqlite3 .rocpd_profile/trace_results.db 'select name from kernels' | grep -q vector_add || fail 'view kernels'

cp .rocpd_profile/profile.json first.json
expect 0 rocm-perf profile --device software --json ./vector_add
says err 'vector_add: PASS'
cmp out .rocpd_profile/profile.json || fail '--json prints something else than profile.json'
python3 - first.json out <<'EOF' || fail 'two runs differ in more than the documented fields, or a kernel in its runs'
import json, sys
a, b = (json.load(open(name)) for name in sys.argv[1:])
for profile in (a, b):
    del profile["provenance"]["varies"]
sys.exit(a != b or any(kernel["runs_ms"] != [kernel["total_ms"]] * 3 for kernel in a["kernels"]))
EOF
expect 0 rocm-perf profile --device software --quiet --runs 1 ./vector_add
[ "$(cat out)" = "$sum" ] || fail "--quiet prints $(cat out) instead of $sum"

# What the first run did not launch is in the result, too, with the runs that did.
example later
expect 0 rocm-perf profile --device software --runs 3 -o later_profile ./later
grep -A2 'the first run did not launch' out | grep -q 'in 2 of 3 runs' || fail 'the table lacks a kernel of further runs'
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" later_profile/profile.json
[ "$(json kernels.0.name later_profile/profile.json)" = 'always(float*)' ] || fail 'kernels'
[ "$(json repeat_kernels.0.name later_profile/profile.json)" = 'late(float*)' ] || fail 'repeat_kernels'
[ "$(json repeat_kernels.0.runs_calls.0 later_profile/profile.json)" = 0 ] || fail 'runs_calls of the first run'
[ "$(json repeat_kernels.0.runs_calls.2 later_profile/profile.json)" = 1 ] || fail 'runs_calls of the last run'
expect 0 rocm-perf profile --device software --runs 1 -o later_still ./later
expect 0 rocm-perf compare later_profile later_still
grep -q '^equal .*late$' out || fail 'compare lacks a kernel of further runs'

# A folder's name is no pattern.
mkdir 'h\i [j]*'
cd 'h\i [j]*'
expect 0 rocm-perf profile --device software --runs 1 ../vector_add
says out 'vector_add: PASS'
[ -f .rocpd_profile/profile.json ] || fail 'no profile.json in a folder with a backslash'

# Two builds of a program compare: what profile left says which is slower, and why.
cd ..
rocm-perf hipcc "$SOURCE/examples/vector_add.hip" -I "$SOURCE/examples" -O0 -o slow >&2 || fail 'cannot compile'
expect 0 rocm-perf profile --device software --runs 2 -o slow_profile ./slow
expect 0 rocm-perf compare .rocpd_profile .rocpd_profile/profile.json .rocpd_profile/trace_results.db --gate 'runtime<=1' --gate 'vgprs==before'
[ "$(grep -c '^equal .*exact.*vector_add' out)" = 2 ] || fail 'a result is not equal to itself'
expect 1 rocm-perf compare --json .rocpd_profile slow_profile --gate 'runtime<=1.02' --gate 'kernel:vector_add:scratch_bytes==0'
says err 'runtime<=1.02 does not hold'
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/compare.schema.json" out
[ "$(json comparisons.0.kernels.0.time.verdict out)" = slower ] || fail 'code that is not optimised is not slower'
