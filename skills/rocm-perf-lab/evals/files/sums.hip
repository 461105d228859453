// Sums of rows and their roots: three kernels, of which one is slow.
#include <cstdio>

#include <hip/hip_runtime.h>

__global__ void fill(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        x[i] = i % 7;
}

__global__ void row_sums(const float *x, float *sums, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;

    if (row >= rows)
        return;
    for (int i = 0; i < columns; i++)
        sum += x[row * columns + i];
    sums[row] = sum;
}

__global__ void roots(float *sums, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float root = 1;

    if (row >= rows)
        return;
    for (int step = 0; step < 8; step++)
        root = 0.5f * (root + sums[row] / root);
    sums[row] = root;
}

int main()
{
    const int rows = 4096, columns = 256;
    float *x, *sums, first;

    if (hipMalloc(&x, rows * columns * sizeof *x) || hipMalloc(&sums, rows * sizeof *sums))
        return 1;
    fill<<<rows * columns / 256, 256>>>(x, rows * columns);
    row_sums<<<rows / 64, 64>>>(x, sums, rows, columns);
    roots<<<rows / 64, 64>>>(sums, rows);
    if (hipMemcpy(&first, sums, sizeof first, hipMemcpyDeviceToHost))
        return 1;
    printf("%.4f\n", first);
    return 0;
}
