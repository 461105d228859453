# --timeout ends what hangs, whatever it ignores; --no-hip-calls leaves kernels and copies.
. "$(dirname "$0")/../lib.sh"
export RP_BUILD=$BUILD STAND_IN_LOG=$SCRATCH/calls
PATH=$SOURCE/tests/e2e/stand_in:$PATH
example saxpy_streams
profile() { rocm-perf profile --device software "$@"; }
sqlite() { python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])' "$@"; }
gone() { for _ in $(seq 50); do grep -alsz "^$1\$" /proc/[0-9]*/cmdline >/dev/null || return 0; sleep 0.1; done; fail "$2"; }

# HIP calls or not: the same kernels and times, and what one has and the other has not.
expect 0 profile --runs 1 --json -o with ./saxpy_streams
cp out with.json
expect 0 profile --runs 1 --json -o without --no-hip-calls ./saxpy_streams
[ "$(json kernels out)" = "$(json kernels with.json)" ] || fail 'kernels differ without HIP calls'
[ "$(json runtime_ms out)" = "$(json runtime_ms with.json)" ] || fail 'the runtime differs without HIP calls'
[ "$(sqlite with/trace_results.db 'SELECT count(*) > 20 FROM rocpd_region')" = 1 ] || fail 'no HIP calls'
[ "$(sqlite without/trace_results.db 'SELECT count(*) FROM rocpd_region')" = 0 ] || fail 'HIP calls'
for table in rocpd_kernel_dispatch rocpd_memory_copy; do
    [ "$(sqlite with/trace_results.db "SELECT count(*) FROM $table")" = \
      "$(sqlite without/trace_results.db "SELECT count(*) FROM $table")" ] || fail "$table"
done
expect 0 rocm-perf analyze without
expect 0 profile --tracer rocprofv3 --runs 1 --no-hip-calls --quiet ./saxpy_streams
[ "$(grep -c hip-runtime-trace calls)" = 0 ] || fail 'rocprofv3 was asked for HIP calls'
[ "$(grep -c marker-trace calls)" = 0 ] || fail 'rocprofv3 was asked for ranges without calls'

# A run in time is not disturbed; one that hangs ends, with what it has started.
expect 0 profile --runs 1 --timeout 120 --quiet ./saxpy_streams
before=$(sha256sum .rocpd_profile/profile.json)
stopped() { # LIMIT SECONDS OPTIONS...: the program sleeps that long behind its kernels
    local limit=$1 sleep=$2
    shift 2
    expect 5 profile --runs 1 --timeout "$limit" "$@" -- /bin/sh -c "./saxpy_streams; sleep $sleep; true"
    says err "did not end within $limit s (--timeout)"
    gone "$sleep" 'a process of the program goes on'
    [ "$(sha256sum .rocpd_profile/profile.json)" = "$before" ] || fail 'the result before is gone'
    [ "$(ls -A .rocpd_profile | grep -c partial)" = 0 ] || fail 'work in progress is left behind'
}
stopped 25 91.25 # its kernels are done by then, on a busy machine, too
[ -f .rocpd_profile/failed/trace_results.db ] || fail 'what was recorded until then is not kept'
stopped 6 92.25 --tracer rocprofv3
says err 'or rocprofv3 hung (--tracer builtin would tell)'
expect 5 profile --runs 1 --timeout 6 -- /bin/sh -c 'trap "" TERM INT; ./saxpy_streams; sleep 93.25; sleep 94.25'
gone '9[34].25' 'what ignores SIGTERM goes on'
# In a session of its own, behind a shell that dies at once; what was there before is left alone.
sleep 90.25 >/dev/null 2>&1 &
stranger=$!
expect 5 /bin/sh -c 'sleep 89.25 & exec rocm-perf profile --device software --runs 1 --timeout 3 -- \
    /bin/sh -c "setsid sh -c \"sleep 97.25; true\" & ./saxpy_streams; sleep 98.25; true"'
gone '9[78].25' 'what has its own session goes on'
kill "$(grep -alsz '^89.25$' /proc/[0-9]*/cmdline | cut -d/ -f3)" || fail 'the child from before was killed, too'
kill $stranger || fail 'a stranger was killed, too'

# Interrupted twice, the second time later: what ignores SIGINT is killed.
background rocm-perf profile --device software --runs 1 -- \
    /bin/sh -c 'trap "" TERM INT; ./saxpy_streams; sleep 95.25; sleep 96.25'
profiler=$!
while ! grep -qs PASS out && kill -0 $profiler; do sleep 0.1; done
kill -INT $profiler
sleep 1.5
kill -0 $profiler || fail 'one signal was enough for a program that ignores it'
kill -INT $profiler
status=0
wait $profiler || status=$?
[ $status = 5 ] || fail "interrupted twice: exit status $status"
says err 'was killed by signal 9 (Killed) when it was interrupted'
gone '9[56].25' 'what ignores SIGINT goes on'
[ "$(sha256sum .rocpd_profile/profile.json)" = "$before" ] || fail 'interrupted: the result before is gone'
expect 2 profile --timeout 0 ./saxpy_streams
says err 'use a number of seconds'
expect 2 profile --no-rocprof --no-hip-calls ./saxpy_streams
