#!/usr/bin/env bash
# Results of the software device name the model of time that was in force, and how much of a detailed
# one was sampled, on each target.
. "$(dirname "$0")/../lib.sh"
unset ROCM_PERF_DEVICE_TIMING
example vector_copy

expect 0 rocm-perf profile --device software --timing counts --runs 1 --json -o counts ./vector_copy
cp out counts.json
expect 0 rocm-perf profile --device software --runs 2 --json -o detailed ./vector_copy
cp out detailed.json
for result in counts detailed; do
    expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" $result.json
    expect 0 rocm-perf analyze --json $result
    cp out $result.dag.json
    expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/dag.schema.json" $result.dag.json
    [ "$(json timing.model $result.json)" = $result ] || fail "profile.json: $result"
    [ "$(json timing $result.dag.json)" = "{\"model\": \"$result\", \"version\": $(json timing.version $result.json)}" ] ||
        fail "dag.json: $result"
done
[ "$(json stability.cv detailed.json)" = 0.0 ] || fail 'detailed timing varies'

python3 - counts detailed <<'EOF' || fail 'what was sampled'
import json, sqlite3, sys
counts, detailed = (json.load(open(name + ".json")) for name in sys.argv[1:])
assert all(counts["timing"][k] is None for k in ("error_share", "fast_clock_waves", "replayed_calls", "replayed_waves", "waves"))
assert all(k["timing"] is None for k in counts["kernels"])
db = sqlite3.connect("counts/trace_results.db")
rows = db.execute("SELECT replayed_waves, shortest_ns, longest_ns FROM rocm_perf_replay").fetchall()
assert all(r[0] == 0 and 0 < r[1] < r[2] for r in rows), rows
of = lambda bounds: (bounds["calls"], round(bounds["shortest_ms"] * 1e6), round(bounds["longest_ms"] * 1e6))
assert of(counts["timing"]["bounds"]) == (len(rows), sum(r[1] for r in rows), sum(r[2] for r in rows)), rows
for before, after in zip(*(sorted(r["kernels"], key=lambda k: k["name"]) for r in (counts, detailed))):
    assert before["name"] == after["name"] and "bounds" not in after
    assert before["bounds"]["shortest_ms"] <= after["total_ms"] <= before["bounds"]["longest_ms"], (before, after)
db = sqlite3.connect("detailed/trace_results.db")
rows = db.execute("SELECT s.display_name, r.waves, r.replayed_waves, r.error_share, d.end - d.start"
                  " FROM rocm_perf_replay r JOIN rocpd_kernel_dispatch d ON d.id = r.id"
                  " JOIN rocpd_info_kernel_symbol s ON s.id = d.kernel_id").fetchall()
def sums(rows):
    ns = sum(r[4] for r in rows)
    return {"error_share": sum(r[3] * r[4] for r in rows) / ns, "replayed_calls": len(rows),
            "replayed_waves": sum(r[2] for r in rows), "waves": sum(r[1] for r in rows), "fast_clock_waves": 0}
def equal(got, wanted):
    error = got["error_share"] - wanted["error_share"]
    return abs(error) < 1e-6 and all(got[k] == wanted[k] for k in wanted if k != "error_share")
assert equal(detailed["timing"], sums(rows)), (detailed["timing"], sums(rows))
for k in detailed["kernels"]:
    assert k["timing"]["replayed_calls"] == k["calls"], k
    assert equal(k["timing"], sums([r for r in rows if r[0] == k["name"]])), k
# 1,048,576 doubles by blocks of 256: 16,384 waves a launch, of which one die's are replayed
copy = next(k["timing"] for k in detailed["kernels"] if "copy" in k["name"] and not k["runtime_internal"])
assert copy["waves"] == 3 * 16384 and copy["replayed_waves"] * 8 == copy["waves"], copy
assert 0 <= copy["error_share"] < 0.2, copy
assert counts["user_ms"] != detailed["user_ms"]
EOF
expect 0 rocm-perf analyze detailed
says out 'modelled time (detailed timing), not hardware time'
grep -q '^End to end .*; host time is not modelled$' out || { cat out; fail 'the end-to-end time does not say what is not in it'; }

# What overlaps shares the device: eight streams cannot move more than its memory can.
example overlapping_reads
expect 0 rocm-perf profile --device software --timing detailed --runs 1 --json -o overlapping ./overlapping_reads
expect 0 rocm-perf analyze --json overlapping
mv out overlapping.dag.json
python3 - overlapping/profile.json overlapping.dag.json <<'EOF' || fail 'kernels that overlap share memory'
import json, sys
profile, dag = (json.load(open(name)) for name in sys.argv[1:])
assert profile["timing"]["overlapped"]["dispatches"] == 8, profile["timing"]
assert 8 * (32 << 20) / dag["makespan_ns"] < 4430, dag["makespan_ns"] # GB/s
EOF

# Other targets have the model, too, with constants of their own. It is the default of all.
for target in gfx90a:mi210 gfx950:mi350x; do
    name=${target#*:}
    expect 0 rocm-perf hipcc -O3 --offload-arch="${target%:*}" "$SOURCE/tests/e2e/programs/vector_copy.hip" -I "$SOURCE/examples" -o copy_on_"$name"
    expect 0 rocm-perf profile --device software:"$target" --runs 1 --json -o "$name" ./copy_on_"$name"
    [ "$(json timing.model out)" = detailed ] || fail "timing of $target"
    cp out "$name".json
done
python3 - detailed mi210 mi350x <<'EOF' || fail 'a GPU with less bandwidth takes longer'
import json, sys
mi300x, mi210, mi350x = (json.load(open(name + ".json"))["user_ms"] for name in sys.argv[1:])
assert mi210 > 1.5 * mi300x and mi350x < mi300x, (mi300x, mi210, mi350x)
EOF

# The variable is what the option sets; the option wins.
ROCM_PERF_DEVICE_TIMING=detailed expect 0 rocm-perf profile --device software --runs 1 --json ./vector_copy
[ "$(json timing.model out)" = detailed ] || fail 'the variable'
ROCM_PERF_DEVICE_TIMING=detailed expect 0 rocm-perf profile --device software --timing counts --runs 1 --json ./vector_copy
cmp <(json kernels out) <(json kernels counts.json) || fail 'the option does not win'

# Its old name stays accepted, and one note says the new one, also where the command starts others.
noted() { [ "$(grep -c 'is called counts now' err)" = 1 ] || { cat err; fail "not one note: $1"; }; }
expect 0 rocm-perf profile --device software --timing fast --runs 2 --json -o renamed ./vector_copy
noted 'of the option'
says err 'rocm-perf: --timing fast is called counts now'
[ "$(json timing.model out)" = counts ] || fail 'the model has its old name'
ROCM_PERF_DEVICE_TIMING=fast expect 0 rocm-perf run --device software sh -c 'echo "$ROCM_PERF_DEVICE_TIMING"; rocm-perf run --device software ./vector_copy'
noted 'of the variable'
says err 'ROCM_PERF_DEVICE_TIMING=fast is called counts now'
says out counts
ROCM_PERF_DEVICE_TIMING=fast expect 0 rocm-perf autotune --device software --space <(echo '{"N": [1, 2, 3]}') --cmd-template 'echo 7{N}' \
    --output-regex '([0-9]+)' --max-fraction 0.9 --workers 2 -o tuned
noted 'of workers'

# Between bounds: no verdict where they overlap. What was stored under the old name is of the same model.
expect 0 rocm-perf compare counts renamed
says out 'intervals overlap: use --timing detailed'
expect 1 rocm-perf compare counts renamed --gate 'runtime<=1.02'
cp -r renamed stored
sed -i 's/"model": "counts"/"model": "fast"/' stored/*.json
for trace in stored/*.db; do
    table=$(sqlite3 $trace "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_metadata_%'")
    sqlite3 $trace "UPDATE $table SET value = 'fast' WHERE tag = 'rocm_perf_timing'"
done
expect 0 rocm-perf compare stored counts
says out 'intervals overlap: use --timing detailed'
expect 0 rocm-perf analyze stored
expect 3 rocm-perf compare stored detailed
says err "make stored again: rocm-perf profile --timing detailed ./vector_copy"
expect 2 rocm-perf autotune --device software --timing counts --space <(echo '{"N": [1, 2, 3]}') --cmd-template './vector_copy {N}' -o ranked
says err "kernels' times are intervals then"
says err 'use --timing detailed'

# Without timing a kernel takes a tick of 10 ns, however long it is; clocks that kernels read go on.
example ticks
for timing in counts detailed off; do
    expect 0 rocm-perf run --device software --timing $timing ./ticks
    mv out ticks.$timing
done
printf '%s\n' 10 100 | cmp - ticks.off || { cat ticks.off; fail 'ticks without timing'; }
for timing in counts detailed; do
    { read -r one && read -r ten; } <ticks.$timing
    [ "$one" -gt 1000 ] && [ "$ten" = $((10 * one)) ] || { cat ticks.$timing; fail "ticks with $timing timing"; }
done
expect 2 rocm-perf profile --device software --timing off ./ticks
says err '--timing off models no times'
ROCM_PERF_DEVICE_TIMING=off expect 2 rocm-perf profile --device software ./ticks
expect 0 rocm-perf profile --device software --timing off --no-rocprof --runs 1 --json ./ticks
[ "$(json timing out)" = null ] || fail 'wall clock has no model'
# What the option of a command refuses, the variable does not bring in; a word of the line stands above it.
for command in 'judge --old a.hip --new b.hip ./ticks' 'optimize ./ticks' 'replay full-vm' 'isolate --kernel work -o warm ./ticks'; do
    # shellcheck disable=SC2086 # a command line
    expect 2 env ROCM_PERF_DEVICE_TIMING=warm rocm-perf $command
    says err 'ROCM_PERF_DEVICE_TIMING=warm: use counts'
done
expect 0 env ROCM_PERF_DEVICE_TIMING=warm rocm-perf isolate --timing detailed --device software --kernel work -o cold ./ticks
expect 2 env ROCM_PERF_DEVICE_TIMING=exact rocm-perf run --device software ./vector_copy
says err 'ROCM_PERF_DEVICE_TIMING=exact'

# Counters of the caches come from the replay; they are there, the same for any number of threads, and do
# not change its times.
pmc=SQ_WAVES,TCC_HIT_sum,TCC_MISS_sum,TCP_TOTAL_CACHE_ACCESSES_sum,SQ_LDS_BANK_CONFLICT
for threads in 1 2; do
    expect 0 rocm-perf profile --device software --threads $threads --timing detailed --runs 1 --json \
        --pmc $pmc ./vector_copy
    mv out counted.$threads
done
expect 0 rocm-perf analyze --roofline .rocpd_profile
mv out roofline.json
expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/roofline.schema.json" roofline.json
[ "$(json device roofline.json) $(json timing roofline.json)" = "software $(json timing detailed.dag.json)" ] || fail 'roofline.json'
cmp <(json kernels counted.1) <(json kernels counted.2) || fail 'counters of the replay vary'
[ "$(json user_ms counted.1)" = "$(json user_ms detailed.json)" ] || fail 'counters change the replay'
json kernels.0.counters counted.1 | python3 -c '
import json, sys
c = json.load(sys.stdin)
assert c["SQ_WAVES"] == 3 * 16384 and c["SQ_LDS_BANK_CONFLICT"] == 0, c
assert c["TCP_TOTAL_CACHE_ACCESSES_sum"] == 3 * 524288, c
assert abs(c["TCC_HIT_sum"] - 3 * 65536) < 3 * 655 and abs(c["TCC_MISS_sum"] - 3 * 131325) < 3 * 1313, c' ||
    fail 'counters of the replay'

# Counters of waves through time are there with detailed timing, and refused without.
waves=SQ_WAVE_CYCLES,SQ_BUSY_CU_CYCLES,SQ_WAIT_ANY
expect 2 rocm-perf profile --device software --timing counts --pmc $waves ./vector_copy
says err '--pmc SQ_WAVE_CYCLES: the software device counts it with --timing detailed only'
# What an earlier launch has left in the caches is not read from memory once more.
expect 0 rocm-perf profile --device software --timing warm --runs 1 --json -o warm ./vector_copy
python3 -c 'import sys; sys.exit(not float(sys.argv[1]) < 0.8 * float(sys.argv[2]))' $(json user_ms out) $(json user_ms detailed.json) ||
    fail 'warm caches take as long'
[ "$(json kernels.0.calls out)" = 3 ] || fail 'launches with warm caches'
expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" warm/profile.json
expect 0 rocm-perf profile --device software --timing warm --runs 1 ./vector_copy
says out 'Next: rocm-perf profile --why --device software --timing warm ./vector_copy'
expect 3 rocm-perf compare warm detailed
says err "only times of one model compare; make warm again: rocm-perf profile --timing detailed"
expect 0 rocm-perf profile --device software --timing detailed --deep-analysis --runs 1 --json \
    --pmc $waves -o deep ./vector_copy
[ "$(json user_ms out)" = "$(json user_ms detailed.json)" ] || fail 'counters of waves change the replay'
# Achieved occupancy and waits: from counters and from the thread trace.
python3 - out deep/analysis.json <<'EOF' || fail 'counters of waves'
import json, sys
counters = json.load(open(sys.argv[1]))["kernels"][0]["counters"]
kernel = json.load(open(sys.argv[2]))["kernels"][0]
cycles, busy, wait = (counters[n] for n in ("SQ_WAVE_CYCLES", "SQ_BUSY_CU_CYCLES", "SQ_WAIT_ANY"))
assert 0 < wait < cycles <= 8 * busy, counters
achieved = kernel["occupancy"]["achieved_waves_per_simd"]
assert abs(cycles / busy - achieved) < 0.02 * achieved, (cycles / busy, achieved)
assert abs(kernel["features"]["wait"] - wait / cycles) < 1e-5, kernel["features"]
EOF
expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/analysis.schema.json" deep/analysis.json
for result in deep/analysis.json deep/roofline.json; do
    [ "$(json device $result) $(json timing $result)" = "software $(json timing detailed.dag.json)" ] || fail "$result"
done
[ "$(json thread_trace_timing deep/analysis.json)" = detailed ] || fail 'timing of the thread trace'

# What a wave does beyond what is recorded of it is counted all the same: N floats in and out. What no
# sampled workgroup does is not, and results say so.
example late_store
for timing in counts detailed; do
    expect 0 rocm-perf profile --device software --timing $timing --runs 1 --json --roofline \
        --pmc TCC_MISS,TCC_EA0_WRREQ_64B,SQ_WAVES -o late ./late_store
    says err 'other counters of caches and LDS are missing for 1 launch of last('
    mv out late.$timing
    expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/roofline.schema.json" late/roofline.json
    expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" late.$timing
    python3 - late.$timing late/roofline.json <<'EOF' || fail "counters of late_store, $timing"
import json, sys
profile, roofline = (json.load(open(name)) for name in sys.argv[1:])
kernels = {k["name"].split("(")[0]: k for k in profile["kernels"]}
late, last = kernels["late"]["counters"], kernels["last"]["counters"]
n = 256 * 256
assert late["SQ_WAVES"] == n / 64 and late["TCC_EA0_WRREQ_64B"] == n * 4 / 64, late
assert n * 4 / 128 <= late["TCC_MISS"] < 1.1 * 2 * n * 4 / 64, late
assert last["SQ_WAVES"] == 4 * n / 64 and "TCC_MISS" not in last, last
rows = {k["name"].split("(")[0]: k for k in roofline["kernels"]}
assert rows["late"]["hbm_read_bytes"] >= n * 4 and rows["late"]["hbm_write_bytes"] == n * 4, rows["late"]
assert rows["last"]["hbm_read_bytes"] is None
assert [n for n in roofline["notes"] if n.startswith("bytes of ")] == [
    n for n in roofline["notes"] if n.startswith("bytes of last(")] != [], roofline["notes"]
assert profile["kernel"]["name"].startswith("late") and profile["roofline_reason"] is None, profile["kernel"]
EOF
done

# Of a grid that has a workgroup for each compute unit, one of which works, the time is at least that one's.
example one_works
expect 0 rocm-perf run --device software --timing detailed ./one_works
expect 0 rocm-perf run --device software:mi300a --timing detailed ./one_works

# One clock: what a kernel reads of it is the latency of the L1 (116 clocks, mt4g's report of an MI300X),
# on both scales, and less than what events say of the two laps that the kernel takes.
example clocked
expect 0 rocm-perf run --device software --timing detailed ./clocked
python3 - out <<'EOF' || fail 'clocks inside a kernel'
import sys
first, second = ([float(x) for x in line.split()] for line in open(sys.argv[1]))
assert first == second, (first, second)
each, clocks, ticks, event_ns = first
assert 116 <= each < 116 * 1.03, each
assert abs(ticks * 21 - clocks) < 21 * 20, (ticks, clocks)
assert 2 * ticks * 10 <= event_ns < 2.2 * ticks * 10, (ticks, event_ns)
EOF
# All of its waves are replayed; of many more than are sampled the others read another clock.
example many_clocks
for program in clocked many_clocks; do
    expect 0 rocm-perf profile --device software --timing detailed --runs 1 -o $program.result ./$program
    cp $program.result/profile.json $program.json
    mv out $program.txt
    expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" $program.json
done
says many_clocks.txt "waves read counts timing's clock"
grep -q '^Runtime .*; host time is not modelled$' many_clocks.txt || fail 'the runtime does not say what is not in it'
[ "$(json timing.fast_clock_waves clocked.json)" = 0 ] || fail 'clocks of the replay count as others'
t=$(json timing many_clocks.json)
python3 - "$t" "$(sqlite3 many_clocks.result/trace_results.db 'select sum(fast_clock_waves) from rocm_perf_replay')" <<'EOF' || fail "clocks of other waves: $t"
import json, sys
t, stored = json.loads(sys.argv[1]), int(sys.argv[2])
assert 0 < t["waves"] - t["replayed_waves"] == t["fast_clock_waves"] == stored, t
EOF

# At half the clock arithmetic takes twice as long, and memory as long as ever. The result says the clock, and compares with
# none of another one; the highest is as though nothing had been said.
cat >clocks.hip <<'EOF'
#include <cstdio>
#include <hip/hip_runtime.h>
__global__ void arithmetic(float *to)
{
    float a = threadIdx.x;
    for (int i = 0; i < 2000; i++)
        a = a * 1.0001f + 0.5f;
    to[blockIdx.x * blockDim.x + threadIdx.x] = a;
}
__global__ void copies(const float4 *from, float4 *to)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    to[i] = from[i];
}
__global__ void reads_clocks(long long *to)
{
    const long long engine = clock64(), wall = wall_clock64();
    for (int i = 0; i < 1000; i++)
        __builtin_amdgcn_s_sleep(1);
    to[1] = wall_clock64() - wall;
    to[0] = clock64() - engine;
}
int main()
{
    const size_t bytes = 32 << 20;
    void *from, *to;
    long long clocks[2];
    hipDeviceProp_t properties;
    if (hipMalloc(&from, bytes) != hipSuccess || hipMalloc(&to, bytes) != hipSuccess)
        return 1;
    arithmetic<<<1216, 256>>>((float *)to);
    copies<<<bytes / 16 / 256, 256>>>((const float4 *)from, (float4 *)to);
    reads_clocks<<<1, 64>>>((long long *)to);
    if (hipMemcpy(clocks, to, sizeof clocks, hipMemcpyDeviceToHost) != hipSuccess || hipGetDeviceProperties(&properties, 0) != hipSuccess)
        return 1;
    fprintf(stderr, "%.0f %d\n", 100.0 * (double)clocks[0] / (double)clocks[1], properties.clockRate);
    return 0;
}
EOF
expect 0 rocm-perf hipcc -O3 clocks.hip -o clocks
expect 0 rocm-perf profile --device software --runs 2 --json -o at2100 ./clocks
for mhz in 1050 2100; do
    expect 0 rocm-perf profile --device software --clock $mhz --runs 1 --json -o said$mhz ./clocks
    cat err >>clocks.err
    expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" said$mhz/profile.json
done
ROCM_PERF_DEVICE_CLOCK=1050 expect 0 rocm-perf profile --device software --timing counts --runs 1 -o counts1050 ./clocks
says out 'at 1050 MHz'
ROCM_PERF_DEVICE_CLOCK=1050 expect 0 rocm-perf profile --device software --clock 2100 --timing counts --runs 1 --json -o counts2100 ./clocks
python3 - <<'EOF' || fail 'times at another clock'
import json, sqlite3
def ms(name):
    return {k["name"].split("(")[0]: k["total_ms"] for k in json.load(open(name + "/profile.json"))["kernels"]}
def gpu(name):
    return json.load(open(name + "/profile.json"))["gpu"]
own, half, said = ms("at2100"), ms("said1050"), ms("said2100")
assert said == ms("at2100"), (said, own)
assert 1.92 < half["arithmetic"] / own["arithmetic"] < 2.01, (own, half)
assert 0.98 < half["copies"] / own["copies"] < 1.06, (own, half)
assert gpu("said1050")["engine_clock_mhz"] == gpu("said1050")["modelled_clock_mhz"] == 1050
assert gpu("said2100") == gpu("at2100") and "modelled_clock_mhz" not in gpu("at2100")
assert gpu("counts1050")["modelled_clock_mhz"] == 1050 and "modelled_clock_mhz" not in gpu("counts2100")
assert ms("counts1050")["arithmetic"] > 1.9 * ms("counts2100")["arithmetic"]
agents = [json.loads(row[0]) for row in sqlite3.connect("said1050/trace_results.db").execute("SELECT extdata FROM rocpd_info_agent")]
assert [(a["rocm_perf_engine_clk"], a["max_engine_clk_fcompute"]) for a in agents if "rocm_perf_engine_clk" in a] == [(1050, 2100)]
lines = [line.split() for line in open("clocks.err") if line.count(" ") == 1 and line[0].isdigit()]
assert [rate for _, rate in lines] == ["2100000"] * 2 and abs(int(lines[0][0]) - 1050) < 30 and abs(int(lines[1][0]) - 2100) < 60, lines
EOF
expect 0 rocm-perf compare at2100 said2100
expect 0 rocm-perf analyze said1050
says out 'Modelled at 1050 MHz'
for result in dag analysis roofline; do
    [ "$(json timing.clock_mhz said1050/$result.json)" = 1050 ] || fail "$result.json: $(json timing said1050/$result.json)"
    expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/$result.schema.json" said1050/$result.json
done
[ "$(json devices.0.modelled_clock_mhz said1050/roofline.json)" = 1050 ] || fail 'clock of the roofline'
expect 3 rocm-perf compare at2100 said1050
says err 'said1050 was modelled at 1050 MHz (--clock), and at2100 was not: profile both with the same --clock'
for order in 'said1050 said2100' 'said2100 said1050'; do
    expect 3 rocm-perf analyze --roofline $order
    says err 'said1050/trace_results.db was modelled at 1050 MHz (--clock), and said2100/trace_results.db was not: analyse results of one'
done
expect 0 rocm-perf compare --json said1050 said1050
mv out compared.json
[ "$(json baseline.timing.clock_mhz compared.json)" = 1050 ] || fail 'clock of the comparison'
expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/compare.schema.json" compared.json
expect 2 rocm-perf profile --device software --clock 1050 --no-rocprof ./clocks
says err 'nothing is modelled at 1050 MHz'
ROCM_PERF_DEVICE_CLOCK=1050 expect 2 rocm-perf profile --device software --no-rocprof ./clocks
ROCM_PERF_DEVICE_CLOCK=1050 expect 2 rocm-perf doctor --selftest
ROCM_PERF_DEVICE_CLOCK=1050 expect 0 rocm-perf run --device software sh -c 'cat /sys/class/drm/card0/device/pp_dpm_sclk'
says out '0: 1050Mhz *'
ROCM_PERF_DEVICE_CLOCK=1050 expect 0 rocm-perf doctor
says out '1050 MHz'
