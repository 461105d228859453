# Device code for other GPUs only: HIP crashes at the launch, and the user is told why before.
. "$(dirname "$0")/../lib.sh"
rocm-perf hipcc --offload-arch=gfx90a --offload-arch=gfx1100 "$SOURCE/examples/vector_add.hip" -I "$SOURCE/examples" -o other
got=0
rocm-perf run --device software ./other >out 2>err || got=$?
[ "$got" != 0 ] || fail 'a kernel without code ran'
says err 'other has device code for '
says err 'gfx90a'
says err 'gfx1100'
says err 'compile with --offload-arch=gfx942'
expect 5 rocm-perf profile --device software --runs 1 ./other
says err 'compile with --offload-arch=gfx942'
rocm-perf hipcc --offload-arch=gfx90a --offload-arch=gfx942 "$SOURCE/examples/vector_add.hip" -I "$SOURCE/examples" -o both
expect 0 rocm-perf run --device software ./both
if grep -q 'device code' err; then fail 'warns about a program that runs'; fi
