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
# GPUs that the suite knows as data.
rocm-perf hipcc --offload-arch=gfx1201 --offload-arch=gfx1250 "$SOURCE/examples/vector_add.hip" -I "$SOURCE/examples" -o data
expect 5 rocm-perf profile --device software --runs 1 ./data
says err 'data has device code for gfx1201, gfx1250 only'
rocm-perf hipcc --offload-arch=gfx90a --offload-arch=gfx942 "$SOURCE/examples/vector_add.hip" -I "$SOURCE/examples" -o both
expect 0 rocm-perf run --device software ./both
if grep -q 'device code' err; then fail 'warns about a program that runs'; fi
# Code for the GPU with XNACK alone, or without.
for xnack in + -; do
    rocm-perf hipcc "--offload-arch=gfx942:xnack$xnack" "$SOURCE/examples/vector_add.hip" -I "$SOURCE/examples" -o "xnack$xnack"
done
expect 0 env HSA_XNACK=1 rocm-perf run --device software ./xnack+
if grep -q 'device code' err; then fail 'warns about xnack+ with XNACK'; fi
expect 0 rocm-perf run --device software ./xnack-
if grep -q 'device code' err; then fail 'warns about xnack- without XNACK'; fi
got=0
rocm-perf run --device software ./xnack+ >out 2>err || got=$?
[ "$got" != 0 ] || fail 'xnack+ code runs without XNACK'
says err 'xnack+ has device code for gfx942:xnack+ only, but XNACK is off'
says err 'set HSA_XNACK=1 or compile with --offload-arch=gfx942'
expect 5 env HSA_XNACK=1 rocm-perf profile --device software --runs 1 ./xnack-
says err 'xnack- has device code for gfx942:xnack- only, but XNACK is on'
says err 'unset HSA_XNACK or compile with --offload-arch=gfx942'
rocm-perf hipcc --offload-arch=gfx942:xnack+ --offload-arch=gfx942:xnack- "$SOURCE/examples/vector_add.hip" -I "$SOURCE/examples" -o both-xnack
for value in 0 1; do
    expect 0 env HSA_XNACK=$value rocm-perf run --device software ./both-xnack
    if grep -q 'device code' err; then fail 'warns about a program for both'; fi
done
