// The same walk through memory by the one workgroup of a grid, and by one of a grid with a
// workgroup for each compute unit, of which the others have nothing to do; as in stream-K kernels
// with little work.
#include "check.h"

#include <cstdio>
#include <vector>

__global__ __launch_bounds__(512) void walk(const int *next, int *end, int worker, int steps)
{
    if ((int)blockIdx.x != worker)
        return;
    int at = threadIdx.x;
    for (int i = 0; i < steps; i++)
        at = next[at];
    end[threadIdx.x] = at;
}

static float milliseconds(const int *next, int *end, int blocks, int worker)
{
    hipEvent_t begin, stop;
    float ms;
    HIP_CHECK(hipEventCreate(&begin));
    HIP_CHECK(hipEventCreate(&stop));
    HIP_CHECK(hipEventRecord(begin));
    walk<<<blocks, 512>>>(next, end, worker, 40);
    HIP_CHECK(hipEventRecord(stop));
    HIP_CHECK(hipEventSynchronize(stop));
    HIP_CHECK(hipEventElapsedTime(&ms, begin, stop));
    return ms;
}

int main()
{
    constexpr int COUNT = 1 << 20;
    hipDeviceProp_t properties;
    std::vector<int> host(COUNT);
    int *next, *end;
    for (int i = 0; i < COUNT; i++)
        host[i] = (i + 4099 * 32) % COUNT;
    HIP_CHECK(hipGetDeviceProperties(&properties, 0));
    HIP_CHECK(hipMalloc(&next, COUNT * sizeof(int)));
    HIP_CHECK(hipMalloc(&end, 512 * sizeof(int)));
    HIP_CHECK(hipMemcpy(next, host.data(), COUNT * sizeof(int), hipMemcpyHostToDevice));
    const int blocks = properties.multiProcessorCount;
    const float alone = milliseconds(next, end, 1, 0),
                among = milliseconds(next, end, blocks, blocks - 1);
    printf("alone %g ms, among %d workgroups %g ms\n", alone, blocks, among);
    return among < alone;
}
