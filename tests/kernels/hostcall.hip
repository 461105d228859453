// Kernels that call the host: printf and malloc; and one that traps.
#include <hip/hip_runtime.h>

#include <stdio.h>
__global__ void pr(int *x)
{
    printf("v %d %f %s\n", x[threadIdx.x], 1.5, "a");
}
__global__ void devmalloc(int **o, int n)
{
    int *p = (int *)malloc(n);
    p[0] = n;
    o[threadIdx.x] = p;
    free(o[threadIdx.x + 64]);
}
__global__ void asrt(const int *x, int n)
{
    if (x[threadIdx.x] >= n) {
        printf("bad\n");
        __builtin_trap();
    }
}
