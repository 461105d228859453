// y += a x, in workgroups of BLOCK threads. usage: axpy [BLOCK]
#include <cstdio>
#include <cstdlib>

#include <hip/hip_runtime.h>

__global__ void axpy(const float *x, float *y, float a, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float value = y[i];

        for (int step = 0; step < 1; step++)
            value = a * x[i] + value;
        y[i] = value;
    }
}

int main(int argc, char **argv)
{
    const int n = 1 << 19, block = argc > 1 ? atoi(argv[1]) : 256, grid = 608;
    float *x, *y, first;

    if (hipMalloc(&x, n * sizeof *x) || hipMalloc(&y, n * sizeof *y) || hipMemset(x, 1, n * sizeof *x) ||
        hipMemset(y, 1, n * sizeof *y))
        return 1;
    axpy<<<grid, block>>>(x, y, 2, n);
    if (hipMemcpy(&first, y, sizeof first, hipMemcpyDeviceToHost))
        return 1;
    printf("%g\n", first);
    return 0;
}
