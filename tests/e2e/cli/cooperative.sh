# Cooperative launches go through a queue that the collector leaves alone, and says so.
. "$(dirname "$0")/../lib.sh"
example cooperative
expect 0 rocm-perf profile --device software --runs 2 --json ./cooperative
says err 'cooperative: PASS'
[ "$(json provenance.untraced_queues out)" = 2 ] || fail 'untraced queues are not reported'
[ "$(json provenance.complete out)" = false ] || fail 'the profile claims to be complete'
