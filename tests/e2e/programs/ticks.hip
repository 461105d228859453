// Nanoseconds of the device between events: around one kernel, and around ten. A kernel that waits by
// the clock ends, whether time is modelled or not.
#include "check.h"

#include <cmath>
#include <cstdio>

__global__ void work(float *data, int rounds)
{
    float x = data[threadIdx.x];
    for (int r = 0; r < rounds; r++)
        x = x * 1.0001f + 0.5f;
    data[threadIdx.x] = x;
}

__global__ void wait(long long clocks)
{
    long long begin = clock64();
    while (clock64() - begin < clocks)
        ;
}

static long between(float *data, int kernels)
{
    hipEvent_t begin, end;
    float ms;
    HIP_CHECK(hipEventCreate(&begin));
    HIP_CHECK(hipEventCreate(&end));
    HIP_CHECK(hipEventRecord(begin));
    for (int i = 0; i < kernels; i++)
        work<<<64, 64>>>(data, 1000);
    HIP_CHECK(hipEventRecord(end));
    HIP_CHECK(hipEventSynchronize(end));
    HIP_CHECK(hipEventElapsedTime(&ms, begin, end));
    return lround((double)ms * 1e6);
}

int main()
{
    float *data;
    HIP_CHECK(hipMalloc(&data, 64 * sizeof(float)));
    HIP_CHECK(hipMemset(data, 0, 64 * sizeof(float)));
    wait<<<1, 64>>>(100000);
    HIP_CHECK(hipDeviceSynchronize());
    printf("%ld\n", between(data, 1));
    printf("%ld\n", between(data, 10));
    HIP_CHECK(hipFree(data));
}
