// A kernel that another one is linked beside, or whose sizes are dropped.
#include <hip/hip_runtime.h>
extern "C" __global__ void second(int *p, int value) { p[threadIdx.x] = value; }
