#!/usr/bin/env bash
# profile with rocprofv3 as its tracer. There is no GPU here: a stand-in takes rocprofv3's options,
# refuses what the real one refuses, and leaves the files that it leaves (tests/e2e/stand_in).
. "$(dirname "$0")/../lib.sh"
export RP_BUILD=$BUILD STAND_IN_LOG=$SCRATCH/calls
PATH=$SOURCE/tests/e2e/stand_in:$PATH
schema() { expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/$1.schema.json" "$2"; }
example saxpy_streams
traced() { rocm-perf profile --device software --tracer rocprofv3 "$@"; }
sqlite() { python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])' "$@"; }

# On the software device it is only used when it is asked for.
expect 0 rocm-perf profile --device software --runs 2 --json ./saxpy_streams
[ ! -e calls ] || fail 'rocprofv3 was run without being asked for'
[ "$(json provenance.tracer out)" = builtin ] || fail 'tracer'
cp out builtin.json

# The same program under both tracers: the same kernels and times.
expect 0 traced --runs 2 --json ./saxpy_streams
schema profile .rocpd_profile/profile.json
cp .rocpd_profile/profile.json out
[ "$(json provenance.tracer out)" = rocprofv3 ] || fail 'tracer'
[ "$(json provenance.tracer_version out)" = 1.0.0 ] || fail 'version'
[ "$(json device out)" = software ] || fail 'device'
[ "$(json kernels out)" = "$(json kernels builtin.json)" ] || fail 'kernels differ from those of the built-in tracer'
[ "$(json runtime_ms out)" = "$(json runtime_ms builtin.json)" ] || fail 'runtime'
[ "$(find .rocpd_profile -type f | sort | tr '\n' ' ')" = \
  '.rocpd_profile/analysis.json .rocpd_profile/dag.json .rocpd_profile/profile.json ''.rocpd_profile/repeats/run-2_results.db .rocpd_profile/roofline.json .rocpd_profile/trace_results.db ' ] ||
    fail 'files'
python3 - calls <<'EOP' || fail 'arguments of the base runs'
import json, sys
calls = [json.loads(line) for line in open(sys.argv[1])]
assert len(calls) == 2
for call in calls:
    args = call["args"]
    at = args.index("--")
    assert args[at + 1:] == ["./saxpy_streams"], args
    for wanted in ("--kernel-trace", "--hip-runtime-trace", "--memory-copy-trace", "--marker-trace"):
        assert wanted in args[:at], args
    assert args[args.index("--output-format") + 1] == "rocpd"
    assert not any(arg.startswith(("--pmc", "--att")) for arg in args[:at])
EOP

# Arguments, quoting and exit status of the program; foreign ROCPROF_ variables stay out.
rm calls
expect 5 env ROCPROF_OUTPUT_FORMAT=csv ROCPROF_COUNTERS='pmc: SQ_WAVES' ROCPROF_ATT_LIBRARY_PATH=/opt/x \
    rocm-perf profile --device software --tracer rocprofv3 --runs 1 -- /bin/sh -c 'printf "<%s>" "$@"; exit 7' sh -- 'a b' '' --pmc '*'
says err 'exited with status 7 in run 1 of 1'
says out '<--><a b><><--pmc><*>'
python3 -c '
import json
call = json.loads(open("calls").read())
assert call["environment"] == {"ROCPROF_ATT_LIBRARY_PATH": "/opt/x"}, call' || fail 'environment'
expect 5 traced --runs 1 -- /bin/sh -c './saxpy_streams; kill -SEGV $$'
says err 'killed by signal 6' # the log's handler aborts
[ -f .rocpd_profile/failed/trace_results.db ] || fail 'the trace of the failed run is not kept'
expect 3 traced --runs 1 /bin/true
says err 'launched no kernel'

# Two processes, two databases, in the order of their start.
expect 0 traced --runs 1 --json -- /bin/sh -c './saxpy_streams && ./saxpy_streams'
cp .rocpd_profile/profile.json out
[ "$(json provenance.varies.traces out)" = '[".rocpd_profile/trace_results.db", ".rocpd_profile/trace_2_results.db"]' ] ||
    fail 'two processes'
first=$(sqlite .rocpd_profile/trace_results.db 'select init from rocpd_info_process')
second=$(sqlite .rocpd_profile/trace_2_results.db 'select init from rocpd_info_process')
[ "$first" -lt "$second" ] || fail 'order of processes'
both=$(json kernel.name out)

# Counters: three passes, none asks for more than fits (the stand-in would abort).
rm calls
expect 0 traced --runs 1 --roofline --json ./saxpy_streams
schema profile .rocpd_profile/profile.json
schema roofline .rocpd_profile/roofline.json
[ "$(wc -l <calls)" = 4 ] || fail 'one run and three passes'
[ "$(ls .rocpd_profile/counters | tr '\n' ' ')" = 'pass-1_results.db pass-2_results.db pass-3_results.db ' ] || fail 'passes'
cp .rocpd_profile/profile.json out
python3 - out .rocpd_profile/roofline.json builtin.json <<'EOP' || fail 'values'
import json, sys
profile, roofline, plain = (json.load(open(name)) for name in sys.argv[1:])
# What the stand-in's counters say of each wave of the launches.
waves = 4 * (32768 // 64)
read = waves * (128 * 20 + 64 * (40 - 20 - 4) + 32 * 4)
written = waves * (64 * 8 + 32 * 4)
flops = waves * 64 * (2 * 16 + 4)
seconds = plain["runtime_ms"] / 1e3
got = profile["roofline"]
assert profile["roofline_reason"] is None
assert (got["bytes_read"], got["bytes_written"], got["flops"]) == (read, written, flops), got
assert abs(got["achieved_gflops"] - flops / seconds / 1e9) < 1e-3, got
assert abs(got["arithmetic_intensity"] - flops / (read + written)) < 1e-6, got
assert got["bound"] == "hbm"
assert profile["provenance"]["counter_passes"] == 3
kernel = roofline["kernels"][0]
assert kernel["flops"] == flops and kernel["time_ns"] == round(plain["runtime_ms"] * 1e6), kernel
assert kernel["l1_bytes"] == waves * 24 * 64
EOP
cp .rocpd_profile/roofline.json first.json
expect 0 traced --runs 1 --roofline --json ./saxpy_streams
cmp first.json .rocpd_profile/roofline.json || fail 'roofline.json: not the same bytes again'

# Before each pass a line, with the time that is left.
expect 0 python3 "$SOURCE/tests/terminal.py" 60 - rocm-perf profile --device software --tracer rocprofv3 --runs 1 --roofline \
    --json -- /bin/sh -c 'sleep 1.2 && ./saxpy_streams'
for pass in 1 2; do
    grep -qE "^profile: counters, pass $pass of 3, [0-9]+ (s|min) left\$" shown || fail "what is left at pass $pass"
done
grep -qE '^profile: counters, pass 3 of 3(, [0-9]+ (s|min) left)?$' shown || fail 'the last pass'

# Counters of several processes, matched over the passes.
expect 0 traced --runs 1 --roofline --json -- /bin/sh -c './saxpy_streams && ./saxpy_streams'
[ "$(json kernels.0.calls .rocpd_profile/roofline.json)" = 8 ] || fail 'calls of two processes'
[ "$(json kernels.0.flops .rocpd_profile/roofline.json)" = $((8 * 512 * 64 * 36)) ] || fail 'flops of two processes'

# Counters of the user's own; derived ones take the place of their inputs.
rm calls
expect 0 traced --runs 1 --pmc FETCH_SIZE,WRITE_SIZE --pmc SQ_WAVES --json ./saxpy_streams
python3 -c '
import json
calls = [json.loads(line)["args"] for line in open("calls")]
passes = [args[args.index("--pmc") + 1:args.index("--")] for args in calls if "--pmc" in args]
assert passes == [["FETCH_SIZE", "SQ_WAVES"], ["WRITE_SIZE"]], passes' || fail 'passes of --pmc'
cp .rocpd_profile/profile.json out
[ "$(json roofline_reason out)" = 'no hardware counters were collected' ] || fail 'no roofline was asked for'
[ "$(sqlite .rocpd_profile/counters/pass-1_results.db 'select sum(value) from counters_collection where counter_name = "SQ_WAVES"')" = 2048.0 ] ||
    fail 'value of SQ_WAVES'

# What goes wrong with counters does not spoil the profile. (This release ends where others hang: rocprofv3-ends.sh.)
export STAND_IN_VERSION=newest
expect 0 env STAND_IN=few rocm-perf profile --device software --tracer rocprofv3 --runs 1 --roofline --json ./saxpy_streams
[ "$(json kernels.0.flops .rocpd_profile/roofline.json)" = $((4 * 512 * 64 * 36)) ] || fail 'passes that were halved'
expect 0 env STAND_IN=vf rocm-perf profile --device software --tracer rocprofv3 --runs 1 --roofline --json ./saxpy_streams
says err 'the GPU cannot count'
cp .rocpd_profile/profile.json out
says out 'the GPU refuses hardware counters, as virtual functions do'
[ "$(json roofline out)" = null ] || fail 'a roofline of nothing'
expect 0 env STAND_IN=permission rocm-perf profile --device software --tracer rocprofv3 --runs 1 --roofline --quiet ./saxpy_streams
says err 'give the capability CAP_PERFMON'
[ "$(grep -c CAP_PERFMON err)" = 1 ] || fail 'a warning is repeated'
expect 0 traced --runs 1 --pmc SQ_NO_SUCH_COUNTER --quiet ./saxpy_streams
says err 'Missing: [SQ_NO_SUCH_COUNTER]'
expect 2 traced --runs 1 --pmc 'SQ_WAVES;x' ./saxpy_streams
says err "'SQ_WAVES;x' is not the name of a hardware counter"

unset STAND_IN_VERSION

# Failures of rocprofv3 itself: exit 4, the cause, the remedy, and the result before stays.
expect 0 traced --runs 1 --quiet ./saxpy_streams
before=$(sha256sum .rocpd_profile/profile.json)
broken() { # FAULT STATUS TEXT [OPTIONS]
    local fault=$1 status=$2 text=$3
    shift 3
    expect "$status" env STAND_IN="$fault" rocm-perf profile --device software --tracer rocprofv3 --runs 1 "$@" ./saxpy_streams
    says err "$text"
    [ "$(sha256sum .rocpd_profile/profile.json)" = "$before" ] || fail "$fault: the result before is gone"
    [ "$(ls -A .rocpd_profile | grep -c partial)" = 0 ] || fail "$fault: work in progress is left behind"
}
broken old 4 'install ROCm 7.0 or later, or use --tracer builtin'
broken broken 4 'install the package rocprofiler-sdk again'
broken no-python-module 4 'rocprofv3 needs this Python module'
broken cut 3 'a database that is not whole'
mkdir -p decoder/below
: >decoder/below/librocprof-trace-decoder.so.0.1

# Interrupted: the result before is intact, and nothing goes on.
background rocm-perf profile --device software --tracer rocprofv3 --runs 1 -- \
    /bin/sh -c './saxpy_streams; sleep 73.25'
profiler=$!
for _ in $(seq 300); do grep -qs PASS out && break; sleep 0.1; done
kill -INT $profiler
status=0
wait $profiler || status=$?
[ $status = 5 ] || fail "interrupted: exit status $status"
says err 'was killed by signal 2 (Interrupt) when it was interrupted'
[ -f .rocpd_profile/failed/profile.json ] || fail 'the profile of the interrupted run is not kept'
grep -alsz '^73\.25$' /proc/[0-9]*/cmdline && fail 'a process of the program goes on'
[ "$(sha256sum .rocpd_profile/profile.json)" = "$before" ] || fail 'interrupted: the result before is gone'
ls -A .rocpd_profile | grep -q partial && fail 'interrupted: work in progress is left behind'

# A program that ends in order on a signal: the trace that rocprofv3 writes at its end is a result.
example serving
background rocm-perf profile --device software --tracer rocprofv3 -o served ./serving </dev/null
profiler=$!
until grep -qs serving out || ! kill -0 $profiler; do sleep 0.1; done
kill -INT $profiler
wait $profiler || { cat err >&2; fail 'interrupted: a program that ends in order'; }
[ "$(json kernels.0.calls served/profile.json)" = "$(sed -nE 's/^served ([0-9]+),.*/\1/p' out)" ] || fail 'launches are lost'

# The raw log is shown, and kept, when it is asked for.
expect 0 traced --runs 1 --quiet --debug -o logged ./saxpy_streams
says err 'Opened result file'
says logged/tracer.log 'Opened result file'
expect 0 traced --runs 1 --quiet ./saxpy_streams
[ "$(grep -c 'Opened result file' err)" = 0 ] || fail 'the log is shown without being asked for'

# Thread trace: options pass as they are, the kernel is the one that took most time.
rm calls
expect 0 traced --runs 1 --deep-analysis --att-library-path decoder --att-target-cu 3 --att-simd-select 0x3 \
    --att-shader-engine-mask 0x11 --att-buffer-size 2097152 --kernel-iteration-range '[2-3]' --json ./saxpy_streams
schema dag .rocpd_profile/dag.json
schema roofline .rocpd_profile/roofline.json
schema thread_trace .rocpd_profile/thread_trace.json
schema analysis .rocpd_profile/analysis.json
python3 - <<'EOP' || fail 'the ranking knows path, counters and thread trace'
import json
analysis = json.load(open(".rocpd_profile/analysis.json"))
assert analysis["basis"] == "critical_path", analysis["basis"]
known = [k["features"] for k in analysis["kernels"] if k["features"]["stall"] is not None]
assert known and known[0]["bound_share"] is not None, known
EOP
grep -q SQ_BUSY_CU_CYCLES calls || fail 'the counters of the ranking'
says .rocpd_profile/thread_trace.json 's_waitcnt vmcnt(0)'
[ "$(grep -c partial .rocpd_profile/thread_trace.json)" = 0 ] || fail 'the name of a folder that is gone'
[ -f "$(echo .rocpd_profile/thread-trace/att-threads/ui_output_agent_*_dispatch_1/code.json)" ] || fail 'thread trace'
python3 - calls "$both" <<'EOP' || fail 'arguments of the thread trace'
import json, re, sys
args = [json.loads(line)["args"] for line in open(sys.argv[1])][-1]
for wanted in ("--att", "--att-library-path=decoder", "--att-target-cu=3", "--att-simd-select=0x3",
               "--att-shader-engine-mask=0x11", "--att-buffer-size=2097152", "--kernel-iteration-range=[2-3]"):
    assert wanted in args, (wanted, args)
regex = [arg for arg in args if arg.startswith("--kernel-include-regex=")][0].split("=", 1)[1]
assert re.fullmatch(regex, sys.argv[2]), regex
EOP

# analyze reads the whole folder as profile does: repeats are not ranks, passes not processes.
expect 0 traced --runs 2 --deep-analysis --att-library-path decoder --quiet ./saxpy_streams
expect 0 rocm-perf analyze -o again .rocpd_profile
for name in dag roofline thread_trace; do
    cmp .rocpd_profile/$name.json again/$name.json || fail "analyze differs from profile: $name.json"
done
expect 0 traced --runs 1 --deep-analysis --att-library-path decoder --kernel-include-regex nothing ./saxpy_streams
says out '--kernel-include-regex may match no kernel that ran'
expect 2 traced --att-target-cu 16 --deep-analysis ./saxpy_streams
says err '--att-target-cu 16: use a number from 0 to 15'
expect 2 traced --att-target-cu 1 ./saxpy_streams
says err 'need --why or --deep-analysis'
expect 2 traced --deep-analysis --att-activity 8 --att-perfcounters SQ_WAVES ./saxpy_streams
says err '--att-activity and --att-perfcounters exclude each other'

# Without a tracer that can: reasons, and the profile succeeds.
expect 0 rocm-perf profile --device software --runs 1 --deep-analysis -v ./saxpy_streams
says out 'Thread trace of dispatch '
says out 'Kernels by what there is to gain'
schema analysis .rocpd_profile/analysis.json
schema dag .rocpd_profile/dag.json
schema profile .rocpd_profile/profile.json
[ ! -e .rocpd_profile/counters ] || fail 'counters of the result before are left'
expect 2 rocm-perf profile --no-rocprof --roofline ./saxpy_streams
says err 'need a trace'
PATH=$BUILD:/usr/bin:/bin
expect 4 rocm-perf profile --device software --tracer rocprofv3 ./saxpy_streams
says err 'or use --tracer builtin'
