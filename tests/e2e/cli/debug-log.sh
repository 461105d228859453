# --debug shows the collector's log and keeps it, also when the program changes its folder.
. "$(dirname "$0")/../lib.sh"
example vector_add
expect 0 rocm-perf profile --device software --runs 1 --debug -- /bin/sh -c "cd / && exec '$PWD/vector_add'"
[ -s .rocpd_profile/tracer.log ] || fail 'no tracer.log'
says err "$(head -n 1 .rocpd_profile/tracer.log)"
# At the end of a HIP program Debian's ROCr says that signals have leaked: nobody sees that, or once with --debug.
leak='Warning: Resource leak detected by SharedSignalPool, '
expect 0 rocm-perf run --device software ./vector_add
if grep -F "$leak" err; then fail "ROCr's line is shown"; fi
expect 0 rocm-perf profile --device software --runs 3 --debug ./vector_add
[ "$(grep -cF "$leak" err)" = 1 ] || fail "shown $(grep -cF "$leak" err) times with --debug"
# What the program itself says stays, even in the same words.
cat >own.c <<'EOF'
#include <stdio.h>
int main(void) { return fprintf(stderr, "Warning: Resource leak detected by %s, %ld Signals leaked.\n", "SharedSignalPool", 2L) < 0; }
EOF
expect 0 rocm-perf hipcc -O2 -D_FORTIFY_SOURCE=2 own.c -o own
expect 0 rocm-perf run --device software ./own
[ "$(cat err)" = "${leak}2 Signals leaked." ] || fail "a line of the program's own: $(cat err)"
