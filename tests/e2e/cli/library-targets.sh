# A library with device code for another GPU: it and its targets are named when a kernel of it is asked for, and only then.
. "$(dirname "$0")/../lib.sh"
cat >part.hip <<'EOF'
#include <hip/hip_runtime.h>
__global__ void fill_part(int *p) { p[threadIdx.x] = 7; }
extern "C" const void *part_kernel(void) { return (const void *)fill_part; }
EOF
cat >asks.hip <<'EOF'
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
__global__ void own(int *p) { p[threadIdx.x] = 1; }
int main(int argc, char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return puts(dlerror()), 3;
    const void *kernel = ((const void *(*)(void))dlsym(library, "part_kernel"))();
    int *p, how = atoi(argv[2]), blocks = 0, error = 0;
    hipFuncAttributes attributes;
    if (hipMalloc(&p, 256) != hipSuccess)
        return 2;
    own<<<1, 64>>>(p); // the program's own code is for the GPU
    void *args[] = {&p};
    if (how == 1)
        error = hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 64, 0);
    if (how == 2)
        error = hipFuncGetAttributes(&attributes, kernel);
    if (how == 3)
        error = hipLaunchKernel(kernel, dim3(1), dim3(64), args, 0, 0);
    printf("error %d\n", error || hipDeviceSynchronize() != hipSuccess);
    return 0;
}
EOF
library() { # NAME OPTION...
    local name=$1
    shift
    rocm-perf hipcc -O2 "$@" -fPIC -shared part.hip -o "$name" || fail "cannot compile $name"
}
library libother.so --offload-arch=gfx90a
library libpacked.so --offload-arch=gfx90a --offload-arch=gfx908 --offload-compress
library libright.so --offload-arch=gfx942
expect 0 rocm-perf hipcc -O2 asks.hip -o asks -ldl
says_of='has device code for'
for how in 0 1 2 3; do
    expect 0 rocm-perf run --device software ./asks ./libright.so $how
    says out 'error 0'
    if grep -F "$says_of" err; then fail 'a library with the right code is named'; fi
done
expect 0 rocm-perf run --device software ./asks ./libother.so 0
if grep -F "$says_of" err; then fail 'a library that is only loaded is named'; fi
for how in 1 2; do
    expect 0 rocm-perf run --device software ./asks ./libother.so $how
    says out 'error 1'
    says err 'libother.so has device code for gfx90a only, but the software device is gfx942'
    says err 'choose --device software:gfx90a, or compile it with --offload-arch=gfx942'
    [ "$(grep -cF "$says_of" err)" = 1 ] || fail 'said more than once'
done
rocm-perf run --device software ./asks ./libother.so 3 >out 2>err || : # HIP 7.2 crashes, others return an error
says err 'libother.so has device code for gfx90a only'
expect 0 rocm-perf run --device software ./asks ./libpacked.so 1
says err 'libpacked.so has device code for '
says err 'gfx908'
says err 'only, but the software device is gfx942'
# Of a program that a script starts the command line knows nothing.
rocm-perf hipcc -O2 --offload-arch=gfx90a asks.hip -o asks90 -ldl || fail 'cannot compile asks90'
rocm-perf run --device software /bin/sh -c './asks90 ./libright.so 0' >out 2>err || :
says err 'asks90 has device code for gfx90a only, but the software device is gfx942'
rocm-perf run --device software ./asks90 ./libright.so 0 >out 2>err || :
[ "$(grep -cF "$says_of" err)" = 1 ] || fail 'the program is named twice, or not'
