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
[ ! -e .rocpd_profile/dag.json ] || fail 'the graph of the result before beside the new one'
[ "$(json kernels.1.calls .rocpd_profile/analysis.json)" = 2 ] || fail 'the analysis of the result before beside the new one'

# Nothing is said where nobody has asked for a graph.
expect 0 rocm-perf profile --device software --runs 1 ./job.sh
! grep -q graph out err || fail 'a graph that nobody has asked for'
[ ! -e .rocpd_profile/dag.json ] && [ -f .rocpd_profile/roofline.json ] || fail 'parts of two processes'

expect 0 rocm-perf profile --device software --runs 1 --deep-analysis ./job.sh
says out "$reason"
[ ! -e .rocpd_profile/dag.json ] || fail 'a graph that cannot be'
python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/analysis.schema.json" \
    .rocpd_profile/analysis.json

# Where the text is not for people, it is a warning.
expect 0 rocm-perf profile --device software --runs 1 --focus-critical --json ./job.sh
says err 'warning: no graph: on the software device'
[ "$(json provenance.varies.traces out | tr ',' '\n' | wc -l)" = 2 ] || fail 'two traces expected'

# analyze and report: one beside the other. What is about the graph is refused.
expect 0 rocm-perf analyze .rocpd_profile
says out '2 processes, one beside the other: each has a clock of its own, so no path leads across'
[ "$(grep -c '  pid [0-9].*__amd_rocclr_copyBuffer' out)" = 2 ] || { cat out; fail 'a line for each process'; }
grep -q 'Critical path' out && fail 'a path across processes'
expect 0 rocm-perf report .rocpd_profile
says out 'report.html: profile, analysis'
expect 3 rocm-perf analyze --json .rocpd_profile
says err 'analyse one trace at a time'
expect 3 rocm-perf report --format perfetto -o x.pftrace .rocpd_profile
says err 'give the trace of one process'
# Processes that others have started, and those that leave by _exit, belong to the run, too.
example forked
for how in exit _exit; do
    expect 0 rocm-perf profile --device software --runs 1 -o "forked-$how" -- /bin/sh -c "./forked 3 $how"
    expect 0 rocm-perf analyze -o "analysed-$how" "forked-$how"
    says out '4 processes, one beside the other'
    expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/profile.schema.json" "forked-$how/profile.json"
    expect 0 python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/analysis.schema.json" "analysed-$how/analysis.json"
    python3 - "forked-$how/profile.json" "analysed-$how/analysis.json" <<'END' || fail "processes of $how"
import json, sys
profile, analysis = (json.load(open(name)) for name in sys.argv[1:])
assert profile["processes"] == analysis["processes"], (profile["processes"], analysis["processes"])
processes = profile["processes"]
assert sorted(p["dispatches"] for p in processes) == [2, 3, 4, 4], processes
assert [p["rank"] for p in processes] == [1, 2, 3, None], processes
assert abs(sum(p["share"] for p in processes) - 1) < 1e-5, processes
assert len(profile["provenance"]["varies"]["pids"]) == 4
END
done
# Two runs of it are no run.
expect 3 rocm-perf analyze forked-exit/trace_results.db forked-_exit/trace_results.db
says err 'clock of its own'
