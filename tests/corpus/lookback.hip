#include "host.h"
__global__ void lookback(const int *in, int *done, int *out, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x, value = i < n ? in[i] : 0, before = 0;
    for (int k = 1; k < 64; k *= 2) {
        int other = __shfl_up(value, k);
        if (threadIdx.x >= k)
            value += other;
    }
    if (blockIdx.x > 0) {
        int seen;
        while (!(seen = __hip_atomic_load(&done[blockIdx.x - 1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)))
            __builtin_amdgcn_s_sleep(8);
        before = seen - 1;
    }
    if (threadIdx.x == 63)
        __hip_atomic_store(&done[blockIdx.x], before + value + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    if (i < n)
        out[i] = before + value;
}

int main()
{
    int n = 64 * 9 - 5;
    std::vector<int> v(n);
    for (int i = 0; i < n; i++) v[i] = i * 7 % 13 + 1;
    int *in = up(v), *done = up(std::vector<int>(9)), *out = up(std::vector<int>(n));
    lookback<<<9, 64>>>(in, done, out, n);
    OK(hipDeviceSynchronize());
    sum("lookback", out, n);
}
