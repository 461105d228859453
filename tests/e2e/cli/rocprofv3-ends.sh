#!/usr/bin/env bash
# How rocprofv3 and the programs under it end badly, in the words and ways of its releases: nothing hangs, who is to
# blame is named, and what was recorded before stays a result.
. "$(dirname "$0")/../lib.sh"
export RP_BUILD=$BUILD STAND_IN_LOG=$SCRATCH/calls
PATH=$SOURCE/tests/e2e/stand_in:$PATH
example saxpy_streams
traced() { rocm-perf profile --device software --tracer rocprofv3 --runs 1 "$@"; }
gone() { for _ in $(seq 100); do grep -alsz "^$1\$" /proc/[0-9]*/cmdline >/dev/null || return 0; sleep 0.1; done; fail "$2"; }
within() { [ $((SECONDS - began)) -le "$1" ] || fail "$2: took $((SECONDS - began)) s"; }

# A program that aborts: releases whose own handler of signals hangs are told not to install it.
for release in 7.0 7.2 newest; do
    export STAND_IN_VERSION=$release
    for signal in ABRT SEGV; do
        expect 5 timeout 60 rocm-perf profile --device software --tracer rocprofv3 --runs 1 -- \
            /bin/sh -c "./saxpy_streams; kill -$signal \$\$"
        says err 'killed by signal 6 (Aborted) in run 1 of 1; what it recorded until then is in .rocpd_profile/failed, whole; rocprofv3 may have crashed'
    done
    [ "$(grep -c disable-signal-handlers=true calls)" = "$(wc -l <calls)" ] || fail 'its own handler of signals'
done
[ -f .rocpd_profile/failed/trace_results.db ] || fail 'the trace of a program that aborted'

# More counters than the GPU has: 10 s behind the message it is killed where it hangs, and the pass is halved.
rm -rf calls .rocpd_profile
began=$SECONDS
expect 0 env STAND_IN=few STAND_IN_VERSION=7.0 timeout 120 rocm-perf profile --device software --tracer rocprofv3 --runs 1 \
    --pmc 'TCC_HIT_sum TCC_MISS_sum TCC_REQ_sum' --quiet ./saxpy_streams
within 60 'a release that hangs'
python3 - calls <<'EOP' || fail 'the pass is not halved'
import json, sys
calls = [json.loads(line)["args"] for line in open(sys.argv[1])]
passes = [len(args[args.index("--pmc") + 1:args.index("--")]) for args in calls if "--pmc" in args]
assert passes == [3, 1, 2], passes
EOP
[ "$(ls .rocpd_profile/counters | tr '\n' ' ')" = 'pass-1_results.db pass-2_results.db ' ] || fail 'the halves'
[ "$(grep -cE '^[WE][0-9]{8} ' err)" = 0 ] || { cat err >&2; fail 'a log that nobody asked for'; }

# What the library cannot do is not blamed on the program, and the profile stays.
for release in 7.0 newest; do
    export STAND_IN_VERSION=$release
    for fault in agent no-aqlprofile; do
        rm -rf .rocpd_profile
        expect 0 env STAND_IN=$fault timeout 60 rocm-perf profile --device software --tracer rocprofv3 --runs 1 --json \
            --focus-critical --roofline ./saxpy_streams
        case $fault in
            agent) says err 'rocprofv3 failed: Could not set agent to be profiled - Signal Value: 1; this GPU does not let' ;;
            *) says err "rocprofv3 failed: Loading 'libhsa-amd-aqlprofile64.so' failed; install the package hsa-amd-aqlprofile" ;;
        esac
        cp out profile.json
        [ "$(json roofline profile.json)" = null ] || fail 'a roofline without counters'
        json roofline_reason profile.json >reason
        says reason 'rocprofv3 failed: '
        [ "$(json kernels.0.calls profile.json)" = 4 ] || fail 'the profile'
        [ -f .rocpd_profile/dag.json ] || fail 'the critical path'
        [ -z "$(ls -A .rocpd_profile/counters)" ] || fail 'files of a pass that failed'
    done
done

# A pass in which the program fails: the same, with the words for that.
rm -rf .rocpd_profile
expect 0 env STAND_IN=pass-2 rocm-perf profile --device software --tracer rocprofv3 --runs 1 --roofline ./saxpy_streams
says err 'warning: a run that counts failed, the result is without: ./saxpy_streams exited with status 9 in counters, pass 2'
says out 'No roofline: ./saxpy_streams exited with status 9 in counters, pass 2'
[ -f .rocpd_profile/profile.json ] || fail 'no result'

# Without the decoder, it says so before anything runs; the rest is done. Found where rocprofv3 looks: anywhere below.
rm -rf calls .rocpd_profile
expect 0 traced --deep-analysis --verbose ./saxpy_streams
sed -n 1p err >first
grep -q 'warning: no thread trace: librocprof-trace-decoder.so is not in or below .*/tests/e2e/lib; install' first ||
    { cat err >&2; fail 'the decoder is not missed at once'; }
says out 'No thread trace: librocprof-trace-decoder.so is not in or below'
[ "$(grep -c -e '"--att' calls)" = 0 ] || fail 'a run for a thread trace that cannot be'
for name in profile dag roofline analysis; do [ -f .rocpd_profile/$name.json ] || fail "$name.json"; done
mkdir -p lib/below other
: >lib/below/librocprof-trace-decoder.so.0.1.6
expect 0 env LD_LIBRARY_PATH="$PWD/other:$PWD/lib" rocm-perf profile --device software --tracer rocprofv3 --runs 1 \
    --deep-analysis --verbose ./saxpy_streams
says out 'Thread trace of dispatch '
[ "$(grep -c 'need detailed timing' out)" = 0 ] || fail 'rocprofv3 traced, not a run with detailed timing'
expect 0 env STAND_IN=shader-data rocm-perf profile --device software --tracer rocprofv3 --runs 1 --deep-analysis \
    --att-library-path lib ./saxpy_streams
says out 'No thread trace: rocprofv3 failed: INVALID_SHADER_DATA; the library aqlprofile is older'
expect 0 env STAND_IN=no-waves rocm-perf profile --device software --tracer rocprofv3 --runs 1 --deep-analysis --verbose \
    --att-library-path lib ./saxpy_streams
says out 'decoder: Callback failed with status 4: ROCPROFILER_THREAD_TRACE_DECODER_STATUS_ERROR_INVALID_SHADER_DATA'
sed -n '/^Thread trace of dispatch/,$p' out >threads
grep -q 'saxpy' threads || { cat threads >&2; fail 'an empty trace without the name of its kernel'; }
grep -q 'unknown kernel' threads && fail 'an unknown kernel'
[ "$(grep -c 'host times are this host' out)" = 1 ] || fail 'whose times these are is not said once'

# Options that a release does not have, or has in pairs only, are refused before anything runs.
rm calls
expect 0 env STAND_IN_VERSION=7.0 rocm-perf profile --device software --tracer rocprofv3 --runs 1 --deep-analysis \
    --att-library-path lib --att-gpu-index 0 --quiet ./saxpy_streams
says err 'no thread trace: --att-gpu-index: this rocprofv3 does not know the option: leave it out, or install ROCm 7.1'
expect 0 env STAND_IN_VERSION=7.1 rocm-perf profile --device software --tracer rocprofv3 --runs 1 --deep-analysis \
    --att-library-path lib --att-gpu-index 0 --quiet ./saxpy_streams
grep -q att-gpu-index=0 calls || fail 'a release that knows the option'
rm calls
expect 2 traced --deep-analysis --att-perfcounters SQ_WAVES ./saxpy_streams
says err '--att-perfcounters NAMES needs --att-perfcounter-ctrl N'
expect 2 traced --deep-analysis --att-perfcounter-ctrl 3 ./saxpy_streams
says err '--att-perfcounter-ctrl N needs --att-perfcounters NAMES'
[ ! -e calls ] || fail 'it ran'

# The log of each run, some twenty lines, is for --debug.
expect 0 traced --quiet ./saxpy_streams
[ "$(cat err)" = 'saxpy_streams: PASS (largest error 0)' ] || { cat err >&2; fail 'noise'; }
expect 0 traced --quiet --debug ./saxpy_streams
[ "$(grep -cE '^[WE][0-9]{8} ' err)" -ge 20 ] || fail 'the log with --debug'

# On the software device, a result of this tracer compares with one of the built-in one.
unset ROCM_PERF_DEVICE_TIMING
expect 0 rocm-perf profile --device software --runs 1 -o own --quiet ./saxpy_streams
expect 0 traced -o genuine ./saxpy_streams
says out 'SOFTWARE DEVICE: modelled time (detailed timing), not hardware time'
expect 0 rocm-perf compare own genuine
[ "$(json timing.version own/profile.json)" = "$(json timing.version genuine/profile.json)" ] || fail 'the model of time'

# A program that says nothing of its end to rocprofv3.
expect 3 traced /bin/true
says err 'or it left by _exit() before rocprofv3 wrote its trace (--tracer builtin keeps it)'
example left
rm -rf .rocpd_profile
expect 3 traced ./left
says out 'left: PASS'
says err 'or it left by _exit() before rocprofv3 wrote its trace (--tracer builtin keeps it)'
expect 0 rocm-perf profile --device software --tracer builtin --runs 1 ./left

# Asked to end, one that does nothing more is killed after 5 s without a second signal; one that works has its time.
asked() { # FAULT SIGNAL MARK: in the background, with a program that sleeps behind its kernels
    STAND_IN=$1 background rocm-perf profile --device software --tracer rocprofv3 --runs 1 -o asked -- \
        /bin/sh -c "./saxpy_streams; trap 'exit 0' INT TERM; sleep $3 & wait"
    profiler=$!
    for _ in $(seq 300); do grep -qs PASS out && break; sleep 0.1; done
    sleep 0.5
    began=$SECONDS
    kill -"$2" $profiler
}
asked stuck TERM 81.25
status=0
wait $profiler || status=$?
within 15 'a tracer that is stuck'
[ $status = 130 ] || fail "a tracer that is stuck: exit status $status"
says err 'there is nothing to keep'
gone 81.25 'a process of the program goes on'
pgrep -f "stand_in/rocprofv3 .*$SCRATCH" >left && fail "rocprofv3 goes on: $(cat left)"
asked patient INT 82.25
wait $profiler || { cat err >&2; fail 'a tracer that needs 8 s to write its trace'; }
[ "$(json kernels.0.calls asked/profile.json)" = 4 ] || fail 'the trace that took long'

# A CI job sends TERM, then KILL to rocm-perf itself.
asked stuck TERM 83.25
sleep 1
kill -KILL $profiler
wait $profiler 2>/dev/null || true
for _ in $(seq 100); do pgrep -f "stand_in/rocprofv3 .*$SCRATCH" >left || break; sleep 0.1; done
[ ! -s left ] || fail "rocprofv3 outlives rocm-perf: $(cat left)"
gone 83.25 'a process of the program outlives rocm-perf'
