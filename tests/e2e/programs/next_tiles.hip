// Tiles of a matrix and a vector in LDS, few wavefronts: each tile is waited for before it is used.
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>
#include <vector>

enum { TILE = 16 };

__global__ void product(const float *a, const float *b, float *c, int n)
{
    __shared__ float rows[TILE][TILE], columns[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;

    for (int t = 0; t < n; t += TILE) {
        const int k = t + threadIdx.x;

        rows[threadIdx.y][threadIdx.x] = row < n && k < n ? a[row * n + k] : 0;
        columns[threadIdx.y][threadIdx.x] =
            t + threadIdx.y < n && column < n ? b[(t + threadIdx.y) * n + column] : 0;
        __syncthreads();
        for (int j = 0; j < TILE; j++)
            sum += rows[threadIdx.y][j] * columns[j][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n)
        c[row * n + column] = sum;
}

__global__ void fill(float *out, int n, int by)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = (float)(i % by);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 250, groups = (n + TILE - 1) / TILE;
    std::vector<float> got(n * n);
    float *a, *b, *c;
    double sum = 0;

    if (hipMalloc(&a, n * n * sizeof(float) + 1) != hipSuccess ||
        hipMalloc(&b, n * n * sizeof(float) + 1) != hipSuccess ||
        hipMalloc(&c, n * n * sizeof(float) + 1) != hipSuccess)
        return 1;
    fill<<<n * n / 256 + 1, 256>>>(a, n * n, 7);
    fill<<<n * n / 256 + 1, 256>>>(b, n * n, 5);
    for (int pass = 0; pass < 3; pass++)
        product<<<dim3(groups, groups), dim3(TILE, TILE)>>>(a, b, c, n);
    if (hipMemcpy(got.data(), c, n * n * sizeof(float), hipMemcpyDeviceToHost) != hipSuccess)
        return 1;
    for (float one : got)
        sum += one;
    std::printf("%.0f\n", sum);
    return 0;
}
