# analyze: traces of the built-in collector; what is not one run is refused.
. "$(dirname "$0")/../lib.sh"
export ROCM_PERF_DEVICE_TIMING=detailed # counts compare as intervals
example two_streams
expect 0 rocm-perf profile --device software --runs 1 --json ./two_streams
expect 0 rocm-perf analyze --json .rocpd_profile/trace_results.db
cp out dag.json
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/dag.schema.json" dag.json
python3 - <<'EOF' || fail 'the graph of two independent streams'
import json
dag = json.load(open("dag.json"))
whole = dag["makespan_ns"]
assert dag["device"] == "software" and dag["complete"], dag["device"]
assert dag["repairs"]["dropped_edges"] == 0, dag["repairs"]
assert dag["overlap"]["kernel_time_ns"] > 1.5 * whole, "the streams do not overlap"
assert dag["kernel_span_ns"] <= whole, dag["kernel_span_ns"]
assert dag["what_if_unshared_queues_ns"] == whole, "nothing is shared"
assert dag["grades"]["inferred"]["edges"] == dag["grades"]["partial"]["edges"] == 0, dag["grades"]
symbols = [s["name"] for s in dag["critical_path"]["by_symbol"]]
assert symbols == ["turn(int*, int)"], symbols  # calls take no time here: no rows of zeros
assert dag["repairs"]["moved_clocks"] == dag["repairs"]["clipped_ends"] == 0, dag["repairs"]
EOF
expect 0 rocm-perf analyze .rocpd_profile/trace_results.db
says out 'SOFTWARE DEVICE'
! grep -q guessed out || { cat out; fail 'HIP calls were recorded, yet something is guessed'; }

# A call that frees memory waits for a kernel also when an event was recorded behind it, as frameworks do: the call's time
# is the kernel's, and gets shorter with it.
cat >freed.hip <<'EOF'
#include <hip/hip_runtime.h>

__global__ void turn(int *x, int n)
{
    int v = x[threadIdx.x];
    for (int i = 0; i < n; i++)
        v = v * 5 + i;
    x[threadIdx.x] = v;
}

int main()
{
    int *x, *y;
    hipEvent_t event;
    if (hipMalloc(&x, 256) || hipMalloc(&y, 256) || hipEventCreate(&event))
        return 1;
    turn<<<1, 64>>>(x, 20000);
    if (hipEventRecord(event) || hipFree(y) || hipFree(x))
        return 1;
    return hipEventDestroy(event);
}
EOF
rocm-perf hipcc -O2 freed.hip -o freed || fail 'compile freed.hip'
expect 0 rocm-perf profile --device software --runs 1 -o freed-profile ./freed
python3 - <<'EOF' || fail 'a kernel that a call to free memory waited for'
import json
dag = json.load(open("freed-profile/dag.json"))
limits = {limit["name"]: limit["makespan_ns"] for limit in dag["limits"]}
assert limits["gpu_infinitely_fast"] < 0.1 * dag["makespan_ns"], (limits, dag["makespan_ns"])
EOF

other=$SOURCE/tests/data/rocpd/vadd-kernel_results.db
expect 3 rocm-perf analyze .rocpd_profile/trace_results.db "$other"
says err 'not of one run'
expect 0 rocm-perf profile --device software --runs 1 -o again ./two_streams
expect 3 rocm-perf analyze .rocpd_profile/trace_results.db again/trace_results.db
says err 'clock of its own'
expect 3 rocm-perf analyze again/trace_results.db again/trace_results.db
says err 'given twice'
# Modelled times of two runs are those of one: they are no sum.
mkdir two
cp .rocpd_profile/trace_results.db two/1_results.db
cp again/trace_results.db two/2_results.db
expect 0 rocm-perf compare again/trace_results.db two
says err '2 traces are 2 runs of the same command'
says out 'equal (exact)'
expect 3 rocm-perf analyze "$other" "$other"
says err 'given twice'

# The runtime's kernels alone are no profile of a program whose own kernel faulted.
example only_kernel_faults
expect 5 rocm-perf profile --device software --runs 1 -o faults ./only_kernel_faults
says err 'came to its end'
