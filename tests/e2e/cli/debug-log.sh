# --debug shows the collector's log and keeps it, also when the program changes its folder.
. "$(dirname "$0")/../lib.sh"
example vector_add
expect 0 rocm-perf profile --device software --runs 1 --debug -- /bin/sh -c "cd / && exec '$PWD/vector_add'"
[ -s .rocpd_profile/tracer.log ] || fail 'no tracer.log'
says err "$(head -n 1 .rocpd_profile/tracer.log)"
