// Sums of floats: each thread adds every n-th number to one variable, and waits for each load.
#include <cstdio>
#include <hip/hip_runtime.h>
#include <vector>

enum { THREADS = 256, GROUPS = 64 };

__global__ void fill(float *in, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        in[i] = (float)(i % 7) + 0.5f;
}

__global__ void partial_sums(const float *in, float *out, int n)
{
    float sum = 0;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int main()
{
    const int n = GROUPS * THREADS * 64 + 100;
    std::vector<float> got(GROUPS * THREADS);
    float *in, *out;
    double sum = 0;

    if (hipMalloc(&in, n * sizeof(float)) != hipSuccess ||
        hipMalloc(&out, got.size() * sizeof(float)) != hipSuccess)
        return 1;
    fill<<<GROUPS, THREADS>>>(in, n);
    partial_sums<<<GROUPS, THREADS>>>(in, out, n);
    if (hipMemcpy(got.data(), out, got.size() * sizeof(float), hipMemcpyDeviceToHost) != hipSuccess)
        return 1;
    for (float part : got)
        sum += part;
    std::printf("%.0f\n", sum);
    return 0;
}
