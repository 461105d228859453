// The grid-wide barrier of global wave sync, which no HIP function uses on this GPU: workgroups pass
// values on, round by round, so that one that came through early would read an old one.
#include "check.h"

enum { GROUPS = 600, ROUNDS = 4 };

__global__ void prepare(unsigned waves)
{
    __builtin_amdgcn_ds_gws_init(waves - 1, 0);
}

__global__ void rotate(int *values)
{
    for (int round = 0; round < ROUNDS; round++) {
        int from = (blockIdx.x + 1) % GROUPS;
        int got = __hip_atomic_load(&values[round * GROUPS + from], __ATOMIC_RELAXED,
                                    __HIP_MEMORY_SCOPE_AGENT);
        __hip_atomic_store(&values[(round + 1) * GROUPS + blockIdx.x], got + 1, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_AGENT);
        __builtin_amdgcn_ds_gws_barrier(GROUPS - 1, 0);
    }
}

int main()
{
    int *values, host[GROUPS];
    HIP(hipMalloc(&values, (ROUNDS + 1) * sizeof host));
    for (int i = 0; i < GROUPS; i++)
        host[i] = i;
    HIP(hipMemset(values, 0xff, (ROUNDS + 1) * sizeof host));
    HIP(hipMemcpy(values, host, sizeof host, hipMemcpyHostToDevice));
    prepare<<<1, 64>>>(GROUPS);
    rotate<<<GROUPS, 64>>>(values);
    HIP(hipGetLastError());
    HIP(hipMemcpy(host, values + ROUNDS * GROUPS, sizeof host, hipMemcpyDeviceToHost));
    for (int i = 0; i < GROUPS; i++)
        CHECK(host[i] == (i + ROUNDS) % GROUPS + ROUNDS);
}
