#include "host.h"
__global__ void matvec(const int *a, const int *x, int *y, int rows, int cols)
{
    int row = blockIdx.x * (blockDim.x / 64) + threadIdx.x / 64, lane = threadIdx.x % 64;
    if (row >= rows)
        return;
    int sum = 0;
    for (int i = lane; i < cols; i += 64)
        sum += a[(size_t)row * cols + i] * x[i];
    for (int s = 32; s > 0; s >>= 1)
        sum += __shfl_down(sum, s);
    if (lane == 0)
        y[row] = sum;
}

int main()
{
    int rows = 128, cols = 256;
    std::vector<int> a(rows * cols), x(cols);
    for (int i = 0; i < rows * cols; i++) a[i] = i * 7 % 19 + 1;
    for (int i = 0; i < cols; i++) x[i] = i % 5 + 1;
    int *da = up(a), *dx = up(x), *y = up(std::vector<int>(rows));
    matvec<<<32, 256>>>(da, dx, y, rows, cols);
    OK(hipDeviceSynchronize());
    sum("matvec", y, rows);
}
