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
    racy_ticket_group_fence racy_atomic_then_store racy_volatile_plus_plus || fail "labels of gfx90a"

# Bounds and unwritten memory.
for target in gfx942 gfx90a; do
    hipcc $target checked_memory
    expect 1 rocm-perf run --device software:$target --check bounds,uninit --check-output memory.json ./checked_memory.$target
    mv out names
    says err "0 bytes behind the end of a buffer of 4000 bytes: outside of what was allocated"
    says err "byte 12 of a buffer of 4000 bytes: it has been freed"
    says err "read of what nothing has written in LDS of unset_lds(arguments)"
    says err "read of what nothing has written in private memory of unset_local(arguments)"
    python3 "$SOURCE/tests/e2e/cli/check_labels.py" memory.json names || fail "labels of memory, $target"
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/check.schema.json" memory.json || fail "schema"
done

# Registers that are used before a load has filled them; compiled code waits always.
hipcc gfx942 checked_waits
expect 1 rocm-perf run --device software --check waits --check-output waits.json ./checked_waits.gfx942
mv out names
says err "use of what a load has not brought yet in registers of early_read(int*, int*)"
says err "no s_waitcnt lgkmcnt waits for the load"
python3 "$SOURCE/tests/e2e/cli/check_labels.py" waits.json names || fail "labels of waits"
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/check.schema.json" waits.json || fail "schema"
expect 0 rocm-perf run --device software --check waits ./checked_races.gfx942
says err "check: nothing found (waits)"

# Kernels of two streams: with nothing between them they race, whatever orders them otherwise.
hipcc gfx942 checked_streams
for how in none two_writers copy_kernel counter length; do
    expect 1 rocm-perf run --device software --check races --check-output streams.json ./checked_streams.gfx942 $how
    says err "nothing orders the dispatches, which are of different queues"
    [ "$(json findings.0.kind streams.json)" = race ] || { cat err; fail "streams: $how"; }
done
for how in event stream device host_event query same_stream atomics readers chain talk talk_a_while messages reset lock halves; do
    expect 0 rocm-perf run --device software --check races ./checked_streams.gfx942 $how
    says err "check: nothing found (races)"
done

# A stray access faults; what it was is a finding all the same.
cat >stray.hip <<'END'
#include <hip/hip_runtime.h>
__global__ void stray(int *p, long at)
{
    if (threadIdx.x == 70)
        p[at] = 1;
}
int main()
{
    int *p;
    if (hipMalloc(&p, 400) != hipSuccess)
        return 2;
    stray<<<1, 128>>>(p, 1l << 34);
    return hipDeviceSynchronize() != hipSuccess;
}
END
rocm-perf hipcc -g -O3 --offload-arch=gfx942 stray.hip -o stray >&2 || fail "cannot compile stray"
rocm-perf run --device software --check bounds ./stray >out 2>err && fail "a stray access"
says err "check: 1 finding (bounds)"
says err "stray.hip:5"
says err "workgroup 0,0,0, wave 1, lane 6"
says err "far from all buffers: nothing is there: it faults"

# What is just before an allocation is its own, or the program's in another way; what a pool has given back faults.
cat >near.hip <<'END'
#include <hip/hip_runtime.h>
#include <sys/mman.h>
#define OK(call) if ((call) != hipSuccess) return 2
__global__ void put(int *p)
{
    p[threadIdx.x] = 1;
}
int main(int, char **argv)
{
    const size_t bytes = 1 << 20;
    int *p;
    if (*argv[1] == 'p') {
        OK(hipMallocAsync(&p, 40000, 0));
        OK(hipFreeAsync(p, 0));
        OK(hipDeviceSynchronize());
    } else {
        for (int i = 0; i < 20; i++) {
            OK(hipMalloc(&p, 8 * bytes));
            char *below = (char *)p - bytes;
            void *at = mmap(below, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (at != below)
                continue;
            OK(*argv[1] == 'r' ? hipHostRegister(at, bytes, 0) : hipSuccess);
            break;
        }
        p -= 64;
    }
    put<<<1, 64>>>(p);
    return hipDeviceSynchronize() != hipSuccess;
}
END
rocm-perf hipcc -O3 --offload-arch=gfx942 near.hip -o near >&2 || fail "cannot compile near"
expect 0 rocm-perf run --device software --check bounds ./near registered
says err "check: nothing found (bounds)"
rocm-perf run --device software --check bounds ./near before >out 2>err && fail "an access before an allocation"
says err "256 bytes before a buffer of 8388608 bytes: outside of what was allocated"
rocm-perf run --device software --check bounds ./near pool >out 2>err && fail "an access of what a pool has given back"
says err "byte 0 of a buffer of 40000 bytes: it has been freed"

# At -O0 scalars are kept in lanes of a register, which goes to scratch memory and back as a whole.
cat >lanes.hip <<'END'
#define HIP_ENABLE_EXTRA_WARP_SYNC_TYPES 1
#include <hip/hip_runtime.h>
__global__ void ends(const double *x, double *y)
{
    const unsigned long long some = 0x8000000000000001ull, lane = threadIdx.x;
    y[lane] = some >> lane & 1 ? __reduce_add_sync(some, x[lane]) : __reduce_max_sync(~some, x[lane]);
}
int main()
{
    double *x, *y;
    if (hipMalloc(&x, 512) != hipSuccess || hipMalloc(&y, 512) != hipSuccess || hipMemset(x, 0, 512) != hipSuccess)
        return 2;
    ends<<<1, 64>>>(x, y);
    return hipDeviceSynchronize() != hipSuccess;
}
END
rocm-perf hipcc -O0 --offload-arch=gfx942 lanes.hip -o lanes >&2 || fail "cannot compile lanes"
expect 0 rocm-perf run --device software --check uninit ./lanes
says err "check: nothing found (uninit)"

# One kernel alone, with the lines of both accesses.
expect 1 rocm-perf run --device software --check races ./checked_races.gfx942 racy_waves_share
line=$(grep -n 'b\[I\] = s\[I ^ 64\]' "$SOURCE/tests/e2e/programs/checked_races.hip" | head -n 1)
says err "check: 1 finding (races)"
says err "checked_races.hip:${line%%:*}"
says err "no barrier between them"
# Pairs of a load and a store, and of two stores, of the same line are one.
expect 1 rocm-perf run --device software --check races ./checked_races.gfx942 racy_plus_plus
says err "check: 1 finding (races)"
expect 0 rocm-perf run --device software --check races --check-output clean.json ./checked_races.gfx942 clean_reverse
says err "check: nothing found (races)"
[ "$(json verdict clean.json)" = clean ] || fail "verdict"

# The program's own status goes first; without a kernel nothing was checked.
expect 2 rocm-perf run --check race ./checked_races.gfx942
says err "use races, uninit, bounds, waits, or several with commas"
expect 2 rocm-perf run --check-output found.json ./checked_races.gfx942
expect 2 rocm-perf run --check races --device gpu ./checked_races.gfx942
expect 3 rocm-perf run --device software --check races -- sh -c 'exit 3'
says err "no kernel ran"
expect 4 rocm-perf run --device software --check races --check-output /nowhere/found.json ./checked_races.gfx942
expect 7 rocm-perf run --device software --check races --check-output failed.json -- sh -c './checked_races.gfx942 clean_reverse; exit 7'
says err "check: nothing found until the program failed (races)"
[ "$(json verdict failed.json)" = incomplete ] || fail "verdict of a program that failed"
