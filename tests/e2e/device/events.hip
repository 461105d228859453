// Events: times that belong to the work between them, states, and misuse.
#include "check.h"

__global__ void busy(float *out, int n)
{
    float x = threadIdx.x;
    for (int i = 0; i < n; i++)
        x = x * 0.999f + 1.0f;
    out[threadIdx.x] = x;
}

static float between(int turns, float *out)
{
    hipEvent_t from, to;
    float ms = -1;
    HIP(hipEventCreate(&from));
    HIP(hipEventCreate(&to));
    HIP(hipEventRecord(from, 0));
    busy<<<1, 64>>>(out, turns);
    HIP(hipEventRecord(to, 0));
    HIP(hipEventSynchronize(to));
    HIP(hipEventElapsedTime(&ms, from, to));
    HIP(hipEventDestroy(from));
    HIP(hipEventDestroy(to));
    return ms;
}

int main()
{
    float *out, ms;
    HIP(hipMalloc(&out, 64 * sizeof(float)));
    float one = between(100000, out), ten = between(1000000, out);
    CHECK(one > 0 && ten > 8 * one && ten < 12 * one);

    hipEvent_t plain, untimed;
    HIP(hipEventCreateWithFlags(&untimed, hipEventDisableTiming));
    HIP(hipEventCreateWithFlags(&plain, hipEventBlockingSync));
    CHECK(hipEventElapsedTime(&ms, plain, plain) == hipErrorInvalidHandle);
    HIP(hipEventRecord(plain, 0));
    HIP(hipEventRecord(untimed, 0));
    HIP(hipEventSynchronize(untimed));
    HIP(hipEventQuery(untimed));
    CHECK(hipEventElapsedTime(&ms, plain, untimed) == hipErrorInvalidHandle);
    HIP(hipEventSynchronize(plain));
    HIP(hipEventElapsedTime(&ms, plain, plain));
    CHECK(ms == 0);
    HIP(hipEventDestroy(plain));
    HIP(hipEventDestroy(untimed));

    // Around one launch, through the extended launch interface: the kernel's own time.
    hipEvent_t start, stop;
    HIP(hipEventCreate(&start));
    HIP(hipEventCreate(&stop));
    int turns = 100000;
    void *args[] = {&out, &turns};
    HIP(hipExtLaunchKernel((void *)busy, dim3(1), dim3(64), args, 0, 0, start, stop, 0));
    HIP(hipEventSynchronize(stop));
    HIP(hipEventElapsedTime(&ms, start, stop));
    CHECK(ms > 0.5f * one && ms < 2 * one);
    HIP(hipFree(out));
}
