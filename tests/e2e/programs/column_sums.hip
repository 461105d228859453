// Sums of columns that are kept in memory: each round loads, adds and stores.
#include <cstdio>
#include <hip/hip_runtime.h>
#include <vector>

__global__ __launch_bounds__(256) void column_sums(const float *table, float *sums, int rows,
                                                   int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    for (int row = 0; row < rows; row++)
        sums[column] += table[(size_t)row * columns + column];
}

__global__ void fill(float *table, int rows, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    for (int row = 0; row < rows; row++)
        table[(size_t)row * columns + column] = (float)((column * 13 + row * 7) % 101);
}

int main()
{
    const int rows = 48, columns = 64 * 256, groups = columns / 256;
    std::vector<float> got(columns);
    float *table, *sums;
    if (hipMalloc(&table, (size_t)rows * columns * sizeof(float)) != hipSuccess ||
        hipMalloc(&sums, columns * sizeof(float)) != hipSuccess)
        return 1;
    fill<<<groups, 256>>>(table, rows, columns);
    (void)hipMemset(sums, 0, columns * sizeof(float));
    for (int pass = 0; pass < 4; pass++)
        column_sums<<<groups, 256>>>(table, sums, rows, columns);
    (void)hipMemcpy(got.data(), sums, columns * sizeof(float), hipMemcpyDeviceToHost);
    double sum = 0;
    for (float one : got)
        sum += one;
    printf("%.0f\n", sum);
    return 0;
}
