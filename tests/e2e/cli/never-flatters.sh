# Modelled time never passes for hardware time, however the software device got into the program.
. "$(dirname "$0")/../lib.sh"
example vector_add
export ASAN_OPTIONS=verify_asan_link_order=0 # for a rocm-perf built with it: we preload in front
device=$(json device_library <(rocm-perf doctor --json))

# Preloaded into rocm-perf itself: no GPU is seen.
expect 4 env LD_PRELOAD="$device" rocm-perf profile --device gpu --runs 1 ./vector_add
says err LD_PRELOAD
expect 0 env LD_PRELOAD="$device" rocm-perf profile --runs 1 --json ./vector_add
[ "$(json device out)" = software ] || fail 'device'
[ "$(sqlite3 .rocpd_profile/trace_results.db "select value from rocpd_metadata where tag = 'rocm_perf_device'")" = software ] ||
    fail 'the trace does not say software'
expect 0 rocm-perf profile --device software --runs 1 ./vector_add
says out 'not hardware time'
