#!/usr/bin/env bash
# profile --pid: a process that runs already is recorded by a rocprofv3 that can attach, and goes on.
. "$(dirname "$0")/../lib.sh"
export RP_BUILD=$BUILD STAND_IN_LOG=$SCRATCH/calls STAND_IN_VERSION=newest
PATH=$SOURCE/tests/e2e/stand_in:$PATH
example saxpy_streams
cat >server <<'END'
[ -z "$STAND_IN_ATTACHED" ] || exec ./saxpy_streams
while sleep 0.1; do :; done
END
STAND_IN_ATTACHED= ROCP_TOOL_ATTACH=1 sh server 'two words' >/dev/null 2>&1 7>&- &
server=$!
STAND_IN_ATTACHED= sh server >/dev/null 2>&1 7>&- &
deaf=$!
until grep -qz '^sh$' /proc/$server/cmdline; do sleep 0.05; done # On a busy machine it is still this shell.
trap 'kill $server $deaf; chmod -R u+w "$SCRATCH"; rm -rf "$SCRATCH"' EXIT

# By --duration: one run, what rocprofv3 is told, and whose profile it is.
expect 0 timeout 120 rocm-perf profile --device software --tracer rocprofv3 --pid "$server" --duration 1.5 --json
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" out
python3 - calls out "$server" <<'EOP' || fail 'what rocprofv3 was told, or profile.json'
import json, sys
args = json.loads(open(sys.argv[1]).read())["args"] # one call
assert f"--pid={sys.argv[3]}" in args and "--attach-duration-msec=1500" in args and "--attach-sync-output" in args, args
assert "--" not in args and "--collection-period" not in args and "--kernel-trace" in args, args
profile = json.load(open(sys.argv[2]))
assert profile["provenance"]["pid"] == int(sys.argv[3])
assert profile["provenance"]["command"] == ["sh", "server", "two words"], profile["provenance"]
assert profile["provenance"]["tracer"] == "rocprofv3" and profile["stability"]["runs"] == 1, profile
assert [kernel["calls"] for kernel in profile["kernels"]] == [4]
EOP
[ ! -s err ] || { cat err >&2; fail 'noise'; }
kill -0 "$server" || fail 'the process ended'

# By Ctrl-C or another signal, which it gets as SIGINT: the result, with status 0.
for signal in INT TERM; do
    rm -rf .rocpd_profile calls calls.attached
    background rocm-perf profile --device software --tracer rocprofv3 --pid "$server" </dev/null
    profile=$!
    for _ in $(seq 600); do [ ! -e calls.attached ] || break; sleep 0.1; done
    kill -$signal $profile
    wait $profile || { cat out err >&2; fail "SIG$signal: status $?"; }
    says out "rocm-perf profile: process $server: sh server two words"
    says out 'rocm-perf report .rocpd_profile'
    says calls attach-duration-msec=10000000000
    [ -f .rocpd_profile/trace_results.db ] || fail "SIG$signal: no trace"
done

# A release that writes after it has returned.
rm -rf .rocpd_profile
expect 0 env STAND_IN_VERSION=7.2 timeout 120 rocm-perf profile --device software --tracer rocprofv3 --pid "$server" --duration 1
[ -f .rocpd_profile/trace_results.db ] || fail 'no trace'

# What cannot be is said at once, and leaves the result.
: >calls
refused() { local status=$1 text=$2; shift 2; expect "$status" timeout 60 rocm-perf profile "$@"; says err "$text"; }
refused 4 '--pid: a process can be joined on a GPU only' --device software --pid "$server"
refused 2 '--pid: the built-in collector cannot join a process that runs' --tracer builtin --pid "$server"
refused 2 '--pid says which process is recorded: leave out PROGRAM' --pid "$server" ./saxpy_streams
refused 2 'no program given' --duration 1
refused 2 'is about further runs of PROGRAM' --pid "$server" --why
refused 2 'leave out --runs' --pid "$server" --runs 2
refused 2 'leave out --delay' --pid "$server" --delay 2
refused 2 '--pid 4194304: there is no such process' --pid 4194304
export STAND_IN_VERSION=7.0
refused 4 '--pid: this rocprofv3 (1.0.0) cannot attach to a process: install ROCm 7.1 or later, or start the program with' \
    --device software --tracer rocprofv3 --pid "$server"
export STAND_IN_VERSION=newest
! grep -q -- --pid calls || fail 'rocprofv3 was asked all the same'

# rocprofv3 cannot attach; the process does nothing on the GPU.
refused 4 'returned non-zero status 2; the process must have been started with ROCP_TOOL_ATTACH=1' \
    --device software --tracer rocprofv3 --pid "$deaf" --duration 1
STAND_IN=detached refused 3 "process $server (sh) launched no kernel while it was recorded" \
    --device software --tracer rocprofv3 --pid "$server" --duration 0.5
[ -f .rocpd_profile/trace_results.db ] || fail 'the last result'
kill -0 "$server" || fail 'the process ended'
