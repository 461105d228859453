// Kernels for bench/check-cost: sums in a tree and products of tiles, both in LDS, and a plain addition.
#include <hip/hip_runtime.h>

#include <cstdlib>
#include <cstring>

__global__ void tree(const int *in, int *out)
{
    __shared__ int part[256];
    const int t = threadIdx.x;
    int v = in[t];
    for (int round = 0; round < 200; round++) {
        part[t] = v + round;
        __syncthreads();
        for (int d = 128; d > 0; d /= 2) {
            if (t < d)
                part[t] += part[t + d];
            __syncthreads();
        }
        v += part[0];
        __syncthreads();
    }
    out[blockIdx.x * 256 + t] = v;
}

__global__ void tiles(const float *a, const float *b, float *c, int n)
{
    __shared__ float x[16][16], y[16][17];
    const int i = threadIdx.y, j = threadIdx.x, row = blockIdx.y * 16 + i, column = blockIdx.x * 16 + j;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        x[i][j] = a[row * n + k + j];
        y[i][j] = b[(k + i) * n + column];
        __syncthreads();
        for (int q = 0; q < 16; q++)
            sum += x[i][q] * y[q][j];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

__global__ void add(const float *a, const float *b, float *c)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i];
}

int main(int argc, char **argv)
{
    const size_t bytes = 512 * 512 * sizeof(float);
    const char *name = argc > 1 ? argv[1] : "tree";
    float *a, *b, *c;
    if (hipMalloc(&a, bytes) || hipMalloc(&b, bytes) || hipMalloc(&c, bytes) || hipMemset(a, 0, bytes) ||
        hipMemset(b, 0, bytes))
        return 1;
    for (int k = argc > 2 ? atoi(argv[2]) : 1; k > 0; k--) {
        if (!strcmp(name, "tree"))
            tree<<<64, 256>>>((int *)a, (int *)c);
        else if (!strcmp(name, "tiles"))
            tiles<<<dim3(32, 32), dim3(16, 16)>>>(a, b, c, 512);
        else
            add<<<1024, 256>>>(a, b, c);
    }
    return hipDeviceSynchronize() != hipSuccess;
}
