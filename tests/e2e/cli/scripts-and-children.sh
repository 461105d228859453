# A shell script that starts several HIP programs: each process gets its own trace.
. "$(dirname "$0")/../lib.sh"
example vector_add
example reduction
printf '#!/bin/sh\nset -e\n./vector_add 5000\ndate >/dev/null\n./reduction\n' >job.sh
chmod +x job.sh
expect 0 rocm-perf profile --device software --runs 1 --json ./job.sh
[ -f .rocpd_profile/trace_results.db ] && [ -f .rocpd_profile/trace_2_results.db ] || fail 'two traces expected'
[ "$(json provenance.varies.traces out | tr ',' '\n' | wc -l)" = 2 ] || fail 'provenance names two traces'
json kernels out | grep -q vector_add || fail vector_add
json kernels out | grep -q sum_lds || fail sum_lds
