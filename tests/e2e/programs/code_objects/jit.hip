// What JIT compilers make: kernels of one name. HELPED only differs in a function that is called, ADDED in a
// constant; both take the same registers. HEAVY takes more.
#include <hip/hip_runtime.h>
#ifndef ADDED
#define ADDED 0
#endif
__device__ __attribute__((noinline)) int helped(int value, int *p)
{
#ifdef HELPED
    if (value == 1234567)
        p[250] = 9;
#else
    if (value == 1234567)
        p[251] = 9;
#endif
    return value;
}
extern "C" __global__ void triton_k(int *p, int value)
{
#ifdef HEAVY
    int a[48], sum = 0;

    for (int i = 0; i < 48; i++)
        a[i] = p[i * 5 % 256];
    for (int r = 0; r < 50; r++) {
        for (int i = 0; i < 48; i++)
            a[i] = a[i] * a[(i + 7) % 48] + 1;
        __syncthreads();
    }
    for (int i = 0; i < 48; i++)
        sum += a[i];
    p[128 + threadIdx.x] = sum;
#endif
    p[64 + threadIdx.x] = ADDED;
    p[threadIdx.x] = helped(value, p);
}
