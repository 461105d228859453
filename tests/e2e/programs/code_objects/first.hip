// Linked before second.hip: the code object then has two metadata notes, as Tensile's have.
#include <hip/hip_runtime.h>
extern "C" __global__ void first(int *p) { p[threadIdx.x] = 1; }
