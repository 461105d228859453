// Waves of more instructions than detailed timing records of each, which store at their end only; and a
// grid of which only the last workgroup, which is not sampled, does an atomic.
#include "check.h"

#include <cstdio>

__global__ void late(const float *in, float *out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    for (int r = 0; r < rounds; r++)
        x = x * 1.0001f + 0.5f;
    out[i] = x;
}

__global__ void last(const float *in, float *out, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
    if (blockIdx.x == gridDim.x - 1)
        atomicAdd(count, 1);
}

int main()
{
    constexpr int BLOCKS = 256, THREADS = 256, N = 4 * BLOCKS * THREADS; // 1024 waves: all are recorded
    float *in, *out;
    HIP_CHECK(hipMalloc(&in, N * sizeof(float)));
    HIP_CHECK(hipMalloc(&out, N * sizeof(float)));
    HIP_CHECK(hipMemset(in, 0, N * sizeof(float)));
    late<<<BLOCKS, THREADS>>>(in, out, 20000);
    last<<<4 * BLOCKS, THREADS>>>(in, out, (int *)in);
    HIP_CHECK(hipDeviceSynchronize());
    HIP_CHECK(hipFree(in));
    HIP_CHECK(hipFree(out));
}
