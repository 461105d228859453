// unchecked BLOCK: never looks whether its launches succeed. HIP refuses blocks of more than 1024 threads: then only
// the first, small kernel runs.
#include <hip/hip_runtime.h>
#include <cstdlib>

__global__ void prepare(float *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = i;
}

__global__ void work(float *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = p[i];
    for (int k = 0; k < 50; k++)
        x = x * 1.0001f + 0.5f;
    p[i] = x;
}

int main(int argc, char **argv)
{
    int block = argc > 1 ? atoi(argv[1]) : 256, lds = argc > 2 ? atoi(argv[2]) : 0, n = 1 << 14;
    bool only = argc > 3; // nothing but what HIP refuses
    float *data;

    (void)hipMalloc(&data, n * sizeof(float));
    if (!only)
        prepare<<<n / 256, 256>>>(data, n);
    work<<<(n + block - 1) / block, block, lds>>>(data, n);
    (void)hipDeviceSynchronize();
    return 0;
}
