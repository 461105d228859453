# Two GPU processes on the software device have clocks of their own: no graph, but the profile is
# kept, and nothing of a result before passes for a part of it.
. "$(dirname "$0")/../lib.sh"
example vector_add
printf '#!/bin/sh\nset -e\n./vector_add 1000\n./vector_add 2000\n' >job.sh
chmod +x job.sh
reason='No graph: on the software device every process has a clock of its own'

# A result before, with all parts.
expect 0 rocm-perf profile --device software --runs 1 --deep-analysis ./vector_add
grep -q 'No graph' out && fail 'one process has a graph'
[ -f .rocpd_profile/dag.json ] && [ -f .rocpd_profile/analysis.json ] || fail 'parts of one process'

expect 0 rocm-perf profile --device software --runs 1 --focus-critical ./job.sh
says out "$reason"
says out vector_add
[ -f .rocpd_profile/profile.json ] && [ -f .rocpd_profile/trace_2_results.db ] || fail 'no profile'
[ ! -e .rocpd_profile/dag.json ] && [ ! -e .rocpd_profile/analysis.json ] ||
    fail 'parts of the result before beside the new one'

expect 0 rocm-perf profile --device software --runs 1 --deep-analysis ./job.sh
says out "$reason"
[ ! -e .rocpd_profile/dag.json ] || fail 'a graph that cannot be'
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/analysis.schema.json" \
    .rocpd_profile/analysis.json

# Where the text is not for people, it is a warning.
expect 0 rocm-perf profile --device software --runs 1 --focus-critical --json ./job.sh
says err 'warning: no graph: on the software device'
[ "$(json provenance.varies.traces out | tr ',' '\n' | wc -l)" = 2 ] || fail 'two traces expected'

# To analyse them together is still refused.
expect 3 rocm-perf analyze .rocpd_profile
says err 'analyse one trace at a time'
