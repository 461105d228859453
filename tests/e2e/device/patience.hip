// A program that waits for the device leaves it the processor, and still sees the end at once.
#include "check.h"

#include <ctime>
#include <thread>
#include <unistd.h>

__global__ void wait(int *flag)
{
    while (!__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM))
        __builtin_amdgcn_s_sleep(1);
}

static double seconds(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Waits for a kernel that ends after a second; the processor time of the wait.
template <class Wait> static double cost(int *flag, Wait &&until_done)
{
    *flag = 0;
    wait<<<1, 64>>>(flag);
    std::thread other([flag] {
        usleep(1000000);
        __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    });
    double begin = seconds(CLOCK_THREAD_CPUTIME_ID);
    until_done();
    double spent = seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
    CHECK(__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 1);
    other.join();
    printf("%.3f s\n", spent);
    return spent;
}

int main()
{
    int *flag, copy = 7;
    hipStream_t stream;
    hipEvent_t event;
    HIP(hipHostMalloc(&flag, sizeof *flag));
    HIP(hipStreamCreate(&stream));
    HIP(hipEventCreate(&event));
    // A spinning wait has taken 0.3 s and more even where eight programs shared two processors.
    CHECK(cost(flag, [] { HIP(hipDeviceSynchronize()); }) < 0.15);
    CHECK(cost(flag, [&] { HIP(hipStreamSynchronize(nullptr)); }) < 0.15);
    CHECK(cost(flag, [&] { HIP(hipMemcpy(&copy, flag, sizeof copy, hipMemcpyDefault)); }) < 0.15);
    CHECK(copy == 1);
    CHECK(cost(flag, [&] {
              HIP(hipEventRecord(event));
              HIP(hipEventSynchronize(event));
          }) < 0.15);
    HIP(hipHostFree(flag));
}
