// Kernels that wait for the host: how long they wait must not show in their times.
#include "check.h"

#include <unistd.h>

__global__ void speak(int x)
{
    printf("work-item %d: %d\n", (int)threadIdx.x, x * (int)threadIdx.x);
}

__global__ void wait(int *flag)
{
    while (!__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM))
        __builtin_amdgcn_s_sleep(1);
}

static float elapsed(hipEvent_t begin, hipEvent_t end)
{
    float ms;
    HIP(hipEventSynchronize(end));
    HIP(hipEventElapsedTime(&ms, begin, end));
    return ms;
}

int main()
{
    hipEvent_t begin, end;
    int *flag;
    HIP(hipEventCreate(&begin));
    HIP(hipEventCreate(&end));
    HIP(hipHostMalloc(&flag, sizeof *flag));
    for (int round = 0; round < 3; round++) {
        HIP(hipEventRecord(begin));
        speak<<<1, 3>>>(round);
        HIP(hipEventRecord(end));
        // Each of its few waits takes two turns of a loop, or less if the host was there at once.
        float ms = elapsed(begin, end);
        CHECK(ms > 0.0015f && ms < 0.0035f);
    }
    float first = 0;
    for (int delay_us : {30000, 120000, 60000, 5000, 7000, 3000, 4000, 11000}) {
        *flag = 0;
        HIP(hipEventRecord(begin));
        wait<<<1, 64>>>(flag);
        HIP(hipEventRecord(end));
        usleep(delay_us);
        __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
        float ms = elapsed(begin, end);
        printf("flag: %.6f ms\n", ms);
        CHECK(ms > 0 && (first == 0 || ms == first)); // however long the wait
        first = ms;
    }
    HIP(hipHostFree(flag));
}
