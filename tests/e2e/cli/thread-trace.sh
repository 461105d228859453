#!/usr/bin/env bash
# Thread traces of the software device: executions are those of the source, the files agree with
# each other and with LLVM about the code, waits grow with what memory takes, options choose, and
# every run leaves the same bytes.
. "$(dirname "$0")/../lib.sh"
source=$SOURCE/tests/e2e/programs/traced.hip
llvm=$(dirname "$(rocm-perf doctor --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["compiler"])')")
[ -x "$llvm/llvm-dwarfdump" ] || llvm=$(dirname "$(find -L "${ROCM_PERF_ROCM:-/opt/rocm}" -name llvm-dwarfdump -perm -u+x | head -n 1)")
cp "$source" traced.hip
expect 0 rocm-perf hipcc -g -O2 traced.hip -o traced

deep() { expect 0 rocm-perf profile --device software --runs 1 --deep-analysis "$@"; }
folder() { echo .rocpd_profile/thread-trace/att-threads/ui_output_agent_1_dispatch_${1:-*}; }
check() { # [DISPATCH [PROGRAM]]: facts of a trace, in facts; of the only one
    python3 "$SOURCE/tests/att/device_trace.py" "$(folder "${1:-}")" "${2:-traced}" "$llvm" "$PWD/traced.hip" >facts || fail "trace of dispatch ${1:-}"
}
fact() { grep -qxF -- "$1" facts || { cat facts >&2; fail "not a fact: $1"; }; }

# Four waves of engine 0's compute unit 1 run the loop 12 times each.
deep -v --kernel-include-regex '^looped\(' ./traced
says out 'Thread traces need detailed timing'
says out 'modelled time (detailed timing)'
[ "$(ls .rocpd_profile/thread-trace/att-threads)" = "stats_ui_output_agent_1_dispatch_2.csv
ui_output_agent_1_dispatch_2" ] || fail 'what was traced'
check 2
# What the kernel declares, without its parameters.
python3 - "$(folder)" traced.hip <<'EOF' || fail 'declarations of the kernel'
import json, os, sys
declared = json.load(open(sys.argv[1] + "/variables.json"))
head = next(n for n, line in enumerate(open(sys.argv[2]), 1) if "looped(const float *in" in line)
assert declared["kernel"] == f"{os.path.realpath(sys.argv[2])}:{head}", declared["kernel"]
names = [v["name"] for v in declared["variables"] if v["function"] == "looped"]
assert "sum" in names and not {"in", "out", "turns"} & set(names), names
EOF
fact 'waves 4'; fact 'cus 1'; fact 'engines 0'; fact 'simds 0,1,2,3'; fact 'modelled 64 64'
fact 'symbol _Z6loopedPKfPfi'
grep -qx "LOOPED.load $((4 * 12)) 0" facts || { cat facts >&2; fail 'loads of the loop'; }
grep -q "^CALLED.add $((4 * 12)) " facts || fail 'executions of the called function'
expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/thread_trace.schema.json" .rocpd_profile/thread_trace.json
[ "$(json thread_trace.0.completeness .rocpd_profile/thread_trace.json)" = complete ] || fail 'not complete'
[ "$(json thread_trace.0.device .rocpd_profile/thread_trace.json)" = software ] || fail 'device'
[ "$(json thread_trace.0.kernel .rocpd_profile/thread_trace.json)" = 'looped(float const*, float*, int)' ] || fail 'kernel'
[ "$(json thread_trace.0.occupancy.of_kernel_only .rocpd_profile/thread_trace.json)" = true ] || fail 'occupancy of the kernel'
# Times are from counts, those of waves are not, and the result tells.
expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/analysis.schema.json" .rocpd_profile/analysis.json
for result in analysis.json roofline.json; do
    [ "$(json device .rocpd_profile/$result) $(json timing.model .rocpd_profile/$result)" = 'software counts' ] || fail "$result"
done
[ "$(json thread_trace_timing .rocpd_profile/analysis.json)" = detailed ] || fail 'timing of the thread trace'
expect 0 rocm-perf analyze --analysis .rocpd_profile/thread-trace/att-threads
[ "$(json device out) $(json timing out) $(json thread_trace_timing out)" = 'software null detailed' ] ||
    fail 'thread traces alone'

# The same bytes from every run, whatever the threads, and with detailed timing for all runs.
cp -r .rocpd_profile/thread-trace/att-threads first
for how in "--threads 1" "--threads 2" "--timing detailed"; do
    # shellcheck disable=SC2086
    deep $how --kernel-include-regex '^looped\(' --quiet ./traced
    diff -r first .rocpd_profile/thread-trace/att-threads || fail "another trace with $how"
done

# What is chosen: launches, engines, compute units, SIMDs, kernels.
deep --kernel-include-regex '^(?:looped|branching)\b' --kernel-iteration-range '[2-3]' --quiet ./traced
[ "$(cd .rocpd_profile/thread-trace/att-threads && echo ui*)" = 'ui_output_agent_1_dispatch_3 ui_output_agent_1_dispatch_4' ] || fail 'launches'
check 3
fact "LOOPED.load $((4 * 13)) 0"
deep --kernel-include-regex looped --att-shader-engine-mask 0x11 --att-target-cu 0 --att-simd-select 0x5 --quiet ./traced
check
fact 'engines 0,4'; fact 'cus 0'; fact 'simds 0,2'; fact 'waves 4'
deep --kernel-include-regex looped --att-target-cu 9 --quiet ./traced 64
[ "$(json thread_trace.0.completeness .rocpd_profile/thread_trace.json)" = empty ] || fail 'no wave comes to that compute unit'
[ "$(json thread_trace.0.kernel .rocpd_profile/thread_trace.json)" = 'looped(float const*, float*, int)' ] || fail 'kernel of an empty trace'
deep --kernel-include-regex branching --quiet ./traced
check
fact "TAKEN.add 7 0" # one of four waves takes the branch, seven times
deep --kernel-include-regex '^late' --quiet ./traced
check
python3 - facts <<'EOF' || fail 'barrier'
import sys
facts = dict(line.split(" ", 1) for line in open(sys.argv[1]))
count, stall = map(int, facts["MEET.barrier"].split())
assert count == 4 and stall > 3 * 200 * 4 * 0.9, (count, stall)  # three waves wait for 200 additions
EOF

# Waits grow with what memory takes: one line in the L1, then a page further each time.
deep --kernel-include-regex 'chase<0>' --quiet ./traced
check
near=$(sed -n 's/^latency //p' facts)
deep --kernel-include-regex 'chase<1>' --quiet ./traced
check
far=$(sed -n 's/^latency //p' facts)
python3 -c 'import sys; near, far = map(float, sys.argv[1:]); assert 100 < near < 180 and far > 4 * near, (near, far)' "$near" "$far" ||
    fail "latencies $near and $far"

# A large grid: a sample of it, on a full compute unit.
deep --kernel-include-regex looped --quiet ./traced 12000
check
grep -q '^modelled [0-9]* 12000$' facts && ! grep -q '^modelled 12000' facts || fail 'a sample'
python3 -c 'import json,sys; t = json.load(open(".rocpd_profile/thread_trace.json"))["thread_trace"][0]; assert t["completeness"] == "complete" and t["occupancy"]["waves_per_simd"] > 6, t["occupancy"]' || fail 'a full compute unit'

# Too long to be recorded (2^24 instructions of 256 waves), or for the buffer: partial.
partial() { # TRACED_WAVES CUT LOST WHY
    python3 - "$@" <<'EOF' || fail "cut short: $*"
import json, sys
trace = json.load(open(".rocpd_profile/thread_trace.json"))["thread_trace"][0]
seen = [len(trace["waves"]), trace["waves_cut_short"], trace["waves_lost"]]
assert trace["completeness"] == "partial" and seen == [int(n) for n in sys.argv[1:4]], seen
assert any(sys.argv[4] in p["text"] for p in trace["problems"]), trace["problems"]
looped = json.load(open(".rocpd_profile/analysis.json"))["kernels"][0]
assert looped["name"].startswith("looped"), looped["name"]
sampled = int(seen[2] > 0) # the large grid
assert looped["thread_traces"] == {"damaged": 0, "partial": 1, "sampled": sampled, "used": 1}, looped
EOF
    expect 0 rocm-perf analyze -v .rocpd_profile/thread-trace/att-threads
    says out "$4"
}
deep --kernel-include-regex looped --quiet ./traced 64 5500
partial 4 4 0 '4 waves cut short: too many instructions to record'
says out 'partial: 4 of 4 waves'
says out 'SOFTWARE DEVICE: modelled time (detailed timing)'
python3 - <<'EOF' || fail 'rows of waves that were cut short'
import json
trace = json.load(open(".rocpd_profile/thread_trace.json"))["thread_trace"][0]
assert [w["instructions"] for w in trace["waves"]] == [2 ** 24 // 256] * 4, trace["waves"]
EOF
deep --kernel-include-regex looped --att-buffer-size 0x100000 --quiet ./traced 64 1000
partial 4 4 0 '4 waves cut short: buffer full, see --att-buffer-size'
deep --kernel-include-regex looped --att-buffer-size 0x100000 --quiet ./traced 6000 400
partial 32 32 48 '48 waves not kept: buffer full'
says out 'partial: 32 of 80 waves'

# analyze reads what profile has left; without debug information there are no lines.
expect 0 rocm-perf analyze -o again .rocpd_profile
says out '1 thread trace, 1 partial, 1 of sampled workgroups'
cmp .rocpd_profile/thread_trace.json again/thread_trace.json || fail 'analyze differs from profile'
expect 0 rocm-perf analyze --thread-trace .rocpd_profile/thread-trace/att-threads
mv out whole
expect 0 rocm-perf analyze --thread-trace .rocpd_profile/thread-trace # with the trace of the run beside it
diff out whole || fail 'the folder above has another thread trace'
mkdir alone && cp -r .rocpd_profile/thread-trace/att-threads alone
expect 0 rocm-perf analyze --thread-trace alone
[ "$(json thread_trace.0.waves_lost out)" = 48 ] || fail "a thread trace alone, from the folder above"
# Of several processes all but the first are in folders of their own, with their own numbers.
mkdir alone/att-threads/process-2 && cp -r alone/att-threads/ui_* alone/att-threads/process-2
expect 0 rocm-perf analyze --thread-trace alone
[ "$(json thread_trace.1.waves_lost out)" = 48 ] || fail 'the thread trace of the second process'
expect 0 rocm-perf hipcc -O2 traced.hip -o plain
deep --kernel-include-regex looped --quiet ./plain
python3 - "$(folder)" <<'EOF' || fail 'lines from nowhere'
import json, os, sys
rows = json.load(open(sys.argv[1] + "/code.json"))["code"]
assert any(r[6] for r in rows) and all(r[3] == "" for r in rows if not r[0].startswith("; "))
assert not os.path.exists(sys.argv[1] + "/snapshots.json")
assert not os.path.exists(sys.argv[1] + "/variables.json")
EOF

# At -O0 nothing is inlined, and the functions of the device libraries have no lines.
expect 0 rocm-perf hipcc -g -O0 traced.hip -o slow
deep --kernel-include-regex '^looped' --quiet ./slow
check '' slow
grep -q "^CALLED.add $((4 * 12)) " facts || fail 'executions of the called function at -O0'

# What cannot be.
deep --kernel-include-regex nothing ./traced
says out 'No thread trace: no launch was chosen: no kernel that ran matches --kernel-include-regex.'
expect 0 rocm-perf profile --device software --runs 1 --deep-analysis --att-gpu-index 5 ./traced
says out 'No thread trace: the chosen launches ran on other GPUs than those of --att-gpu-index.'
[ ! -e .rocpd_profile/thread_trace.json ] || fail 'a trace of nothing'
expect 2 rocm-perf profile --device software --deep-analysis --kernel-include-regex 'a(?=b)' ./traced
says err 'the software device cannot match it: it looks ahead'
expect 2 rocm-perf profile --device software --deep-analysis --att-activity 8 ./traced
says err 'the software device has no counters in its thread traces'
expect 0 rocm-perf hipcc --offload-arch=gfx90a -O2 traced.hip -o other
expect 0 rocm-perf profile --device software:mi210 --runs 1 --deep-analysis ./other
[ "$(json thread_trace.0.completeness .rocpd_profile/thread_trace.json)" = complete ] || fail 'a trace of another target'
