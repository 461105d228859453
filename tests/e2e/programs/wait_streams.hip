// Two streams of one GPU whose kernels wait for each other: each raises its own flag and polls the other's. With an
// argument there is one kernel, which waits for a thread of the program that answers it.
#include <hip/hip_runtime.h>
#include <chrono>
#include <cstdio>
#include <thread>
__global__ void meet(int *mine, int *other)
{
    __hip_atomic_store(mine, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
    while (!__hip_atomic_load(other, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM)) __builtin_amdgcn_s_sleep(1);
}
int main(int argc, char **)
{
    int *flags;
    if (hipHostMalloc(&flags, 256, hipHostMallocCoherent)) return 1;
    flags[0] = flags[32] = 0;
    hipStream_t s[2];
    const int kernels = argc > 1 ? 1 : 2;
    std::thread host([=] {
        if (kernels == 2) return;
        while (!__atomic_load_n(flags, __ATOMIC_ACQUIRE)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        __atomic_store_n(flags + 32, 1, __ATOMIC_RELEASE);
    });
    for (int g = 0; g < kernels; g++) {
        if (hipStreamCreate(&s[g])) return 2;
        meet<<<1, 1, 0, s[g]>>>(flags + 32 * g, flags + 32 * (1 - g));
    }
    for (int g = 0; g < kernels; g++) {
        if (hipStreamSynchronize(s[g])) return 3;
    }
    host.join();
    puts("PASS");
    return 0;
}
