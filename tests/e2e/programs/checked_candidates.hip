// A sum by the last workgroup to come (base), which also leaves in scrap[0] the number of any workgroup: a race of the
// base itself. Candidates for its place are made by -DCANDIDATE=N. Honest: 0 the base, 1 loads two at a time, 2 has no
// scrap and adds no zeros. Wrong, with the same output on the software device: 3 no fence, 4 a ticket by load and store, 5 a fence of the
// workgroup, 6 the parts are read from where they may be old, 7 one
// work-item adds with a load and a store, 8 atomics of the agent in place of those of the system.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>

#ifndef CANDIDATE
#define CANDIDATE 0
#endif

__device__ static unsigned draw(unsigned *ticket)
{
#if CANDIDATE == 4
    const unsigned was = __hip_atomic_load(ticket, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_store(ticket, was + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    return was;
#else
    return atomicAdd(ticket, 1u);
#endif
}

extern "C" __global__ void total(const int *in, int *part, unsigned *ticket, int *out, int *scrap, int n)
{
    __shared__ int sums[128];
    __shared__ bool last;
    const int t = threadIdx.x;
    const int step = gridDim.x * blockDim.x;
    int sum = 0, i = blockIdx.x * blockDim.x + t;
#if CANDIDATE == 1
    for (; i + step < n; i += 2 * step)
        sum += in[i] + in[i + step];
#endif
    for (; i < n; i += step)
        sum += in[i];
    sums[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s)
            sums[t] += sums[t + s];
        __syncthreads();
    }
    if (t == 0) {
#if CANDIDATE != 2
        scrap[0] = blockIdx.x & 1;
#endif
        part[blockIdx.x] = sums[0];
#if CANDIDATE == 5
        __threadfence_block();
#elif CANDIDATE != 3
        __threadfence();
#endif
        last = draw(ticket) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last)
        return;
    sum = 0;
    for (int k = t; k < (int)gridDim.x; k += blockDim.x)
#if CANDIDATE == 6
        sum += part[k];
#else
        sum += ((volatile int *)part)[k];
#endif
#if CANDIDATE == 2
    if (sum)
        atomicAdd_system(out, sum);
#elif CANDIDATE == 7
    sums[t] = sum;
    __syncthreads();
    for (int k = 1; t == 0 && k < (int)blockDim.x; k++)
        sum += sums[k];
    if (t == 0)
        *out += sum;
#elif CANDIDATE == 8
    atomicAdd(out, sum);
#else
    atomicAdd_system(out, sum);
#endif
    if (t == 0) {
        *ticket = 0;
        scrap[0] = scrap[1] = 0;
    }
}

int main()
{
    const int n = 8000, groups = 6;
    std::vector<int> host(n, 3);
    int *in, *part, *out, *scrap, sum = 0;
    unsigned *ticket;
    bool ok = hipMalloc(&in, n * sizeof(int)) == hipSuccess && hipMalloc(&part, groups * sizeof(int)) == hipSuccess &&
              hipMalloc(&ticket, sizeof *ticket) == hipSuccess && hipMalloc(&out, sizeof *out) == hipSuccess &&
              hipMalloc(&scrap, 2 * sizeof *scrap) == hipSuccess;
    ok = ok && hipMemcpy(in, host.data(), n * sizeof(int), hipMemcpyHostToDevice) == hipSuccess &&
         hipMemset(ticket, 0, sizeof *ticket) == hipSuccess && hipMemset(out, 0, sizeof *out) == hipSuccess &&
         hipMemset(scrap, 0, 2 * sizeof *scrap) == hipSuccess;
    total<<<groups, 128>>>(in, part, ticket, out, scrap, n);
    ok = ok && hipMemcpy(&sum, out, sizeof sum, hipMemcpyDeviceToHost) == hipSuccess && sum == 3 * n;
    printf("%s\n", ok ? "PASS" : "FAIL");
    return !ok;
}
