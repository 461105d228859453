# run passes arguments, input, output, status and signals; hipcc likewise.
. "$(dirname "$0")/../lib.sh"
printf 'a\nb\n' | rocm-perf run --device software -- /bin/sh -c 'cat; printf "[%s]" "$@" >&2' sh 'x y' '' --device >out 2>err
[ "$(cat out)" = $'a\nb' ] || fail 'standard input'
[ "$(cat err)" = '[x y][][--device]' ] || fail "arguments: $(cat err)"
expect 143 rocm-perf run --device software -- /bin/sh -c 'kill -TERM $$'
echo 'int main() { return 3; }' >status.cpp
expect 0 rocm-perf hipcc status.cpp -o 'status program'
expect 3 './status program'
expect 1 rocm-perf hipcc no-such-file.hip -o x
says err no-such-file.hip
expect 0 rocm-perf hipcc --version
says out clang
echo 'int f(int x) { return x; }' >part.c
expect 0 rocm-perf hipcc -c part.c -o part.o
echo 'extern "C" int f(int); __global__ void k() {} int main() { return f(0); }' >main.hip
expect 0 rocm-perf hipcc -include hip/hip_runtime.h main.hip part.o -o mixed
expect 0 ./mixed
rocm-perf hipcc -x hip -include hip/hip_runtime.h - -o from-stdin <main.hip -c || fail 'source from standard input'
