# A failed, interrupted or impossible run leaves the result before as it was.
. "$(dirname "$0")/../lib.sh"
example vector_add
expect 0 rocm-perf profile --device software --runs 1 ./vector_add
echo 'mine' >.rocpd_profile/notes.txt
before=$(cd .rocpd_profile && find . -type f | sort | xargs sha256sum)
unchanged() {
    [ "$(cd .rocpd_profile && find . -type f -not -path './failed/*' | sort | xargs sha256sum)" = "$before" ] ||
        fail "the result changed: $1"
}

expect 5 rocm-perf profile --device software --runs 1 -- /bin/sh -c './vector_add && exit 9'
says err 'exited with status 9'
[ -f .rocpd_profile/failed/trace_results.db ] || fail 'the trace of the failed run is not kept'
unchanged 'failing program'

expect 5 rocm-perf profile --device software --runs 1 -- /bin/sh -c './vector_add; kill -KILL $$'
says err 'killed by signal 9'
unchanged 'killed program'

expect 3 rocm-perf profile --device software --runs 1 /bin/true
unchanged 'no kernel'

background rocm-perf profile --device software --runs 1 -- /bin/sh -c './vector_add; sleep 61.25'
profiler=$!
for _ in $(seq 100); do grep -qs PASS out && break; sleep 0.1; done
kill -INT $profiler
status=0
wait $profiler || status=$?
grep -alsz '^61\.25$' /proc/[0-9]*/cmdline && fail 'a process of the program goes on'
[ $status = 5 ] || fail "interrupted: exit status $status"
says err 'interrupted'
[ -f .rocpd_profile/failed/profile.json ] || fail 'the profile of the interrupted run is not kept'
unchanged 'interrupted'
ls -A .rocpd_profile | grep -q partial && fail 'work in progress is left behind'

expect 0 rocm-perf profile --device software --runs 2 ./vector_add
[ -f .rocpd_profile/notes.txt ] || fail "a file of the user's is gone"
[ -f .rocpd_profile/repeats/run-2_results.db ] || fail 'no trace of the second run'
expect 0 rocm-perf profile --device software --runs 1 ./vector_add
[ ! -e .rocpd_profile/repeats ] || fail 'a repeat of the result before is left behind'
