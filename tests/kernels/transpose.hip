// Transpositions.
#include <hip/hip_runtime.h>

__global__ void transpose_naive(const float *a, float *b, int w, int h)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < w && y < h)
        b[x * h + y] = a[y * w + x];
}
__global__ void transpose_lds(const float *a, float *b, int w, int h)
{
    __shared__ float t[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        t[threadIdx.y + j][threadIdx.x] = a[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        b[(y + j) * h + x] = t[threadIdx.x][threadIdx.y + j];
}
__global__ void transpose_h(const _Float16 *a, _Float16 *b, int w)
{
    __shared__ _Float16 t[64][66];
    for (int j = 0; j < 64; j += 4)
        t[threadIdx.y + j][threadIdx.x] =
            a[(blockIdx.y * 64 + threadIdx.y + j) * w + blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 64; j += 4)
        b[(blockIdx.x * 64 + threadIdx.y + j) * w + blockIdx.y * 64 + threadIdx.x] =
            t[threadIdx.x][threadIdx.y + j];
}
