# Cooperative launches go through a queue that belongs to the GPU: they are traced, also alone, also
# after a reset, and the program ends as it does without the collector.
. "$(dirname "$0")/../lib.sh"
example cooperative
count() { python3 -c 'import json, sys
print(sum(k["calls"] for k in json.load(open(sys.argv[1]))["kernels"] if "rotate" in k["name"]))' "$1"; }
expect 0 rocm-perf profile --device software --runs 2 --json ./cooperative
says err 'cooperative: PASS'
[ "$(json provenance.untraced_queues out)" = 0 ] || fail 'a queue was not traced'
[ "$(json provenance.complete out)" = true ] || fail 'the profile is not complete'
[ "$(count out)" = 1 ] || fail 'the cooperative kernel is not in it'
expect 0 rocm-perf profile --device software --gpus 2 --runs 1 --json ./cooperative only
says err 'cooperative only: PASS'
[ "$(count out)" = 12 ] || fail "$(count out) launches of 12"
