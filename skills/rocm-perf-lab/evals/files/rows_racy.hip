// rows.hip without barriers.
#include <cstdio>

#include <hip/hip_runtime.h>

__global__ void row_sums(const float *x, float *sums, int columns)
{
    __shared__ float part[256];
    const int row = blockIdx.x, lane = threadIdx.x;
    float sum = 0;

    for (int i = lane; i < columns; i += 256)
        sum += x[row * columns + i];
    part[lane] = sum;
    if (lane == 0) {
        for (int i = 1; i < 256; i++)
            sum += part[i];
        sums[row] = sum;
    }
}

int main()
{
    const int rows = 32, columns = 1024;
    float *x, *sums, first;

    if (hipMalloc(&x, rows * columns * sizeof *x) || hipMalloc(&sums, rows * sizeof *sums) ||
        hipMemset(x, 1, rows * columns * sizeof *x))
        return 1;
    row_sums<<<rows, 256>>>(x, sums, columns);
    if (hipMemcpy(&first, sums, sizeof first, hipMemcpyDeviceToHost))
        return 1;
    printf("%g\n", first);
    return 0;
}
