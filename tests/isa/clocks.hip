// Kernels that read the clock, as micro-benchmarks do.
#include <hip/hip_runtime.h>
#include <stdint.h>

struct chased {
    uint64_t begin, end;           // clock64()
    uint64_t wall_begin, wall_end; // wall_clock64()
    uint64_t at;
};

__device__ __forceinline__ const uint64_t *follow(const uint64_t *at, int steps)
{
    for (int i = 0; i < steps; i += 16)
#pragma unroll
        for (int k = 0; k < 16; k++) {
            at = *(const uint64_t *const *)at;
            asm volatile("" : "+v"(at)); // as good as volatile, without bypassing the L1
        }
    return at;
}

extern "C" __global__ void chase(const uint64_t *at, chased *out, int skipped, int steps)
{
    chased c;
    at = follow(at, skipped);
    c.wall_begin = wall_clock64();
    c.begin = clock64();
    at = follow(at, steps);
    asm volatile("s_waitcnt vmcnt(0)" ::"v"(at));
    c.end = clock64();
    c.wall_end = wall_clock64();
    c.at = (uint64_t)at;
    if (!threadIdx.x)
        out[blockIdx.x] = c;
}

typedef const __attribute__((address_space(4))) uint64_t constant_word;

__device__ __forceinline__ constant_word *follow_scalar(constant_word *at, int steps)
{
    for (int i = 0; i < steps; i += 16)
#pragma unroll
        for (int k = 0; k < 16; k++)
            at = (constant_word *)*at;
    asm volatile("s_waitcnt lgkmcnt(0)" ::"s"(at));
    return at;
}

extern "C" __global__ void chase_scalar(constant_word *at, chased *out, int skipped, int steps)
{
    chased c;
    at = follow_scalar(at, skipped);
    c.wall_begin = wall_clock64();
    c.begin = clock64();
    at = follow_scalar(at, steps);
    c.end = clock64();
    c.wall_end = wall_clock64();
    c.at = (uint64_t)at;
    if (!threadIdx.x)
        out[blockIdx.x] = c;
}

extern "C" __global__ void chase_lds(const void *, chased *out, int skipped, int steps)
{
    __shared__ uint32_t next[64];
    next[threadIdx.x] = (threadIdx.x + 1) % 64 * 4; // in bytes
    __syncthreads();
    chased c;
    uint32_t at = 0;
    if (threadIdx.x)
        return;
    for (int part = 0; part < 2; part++) {
        if (part) {
            c.wall_begin = wall_clock64();
            c.begin = clock64();
        }
        for (int i = 0; i < (part ? steps : skipped); i += 16)
#pragma unroll
            for (int k = 0; k < 16; k++)
                at = *(volatile uint32_t *)((char *)next + at);
        asm volatile("s_waitcnt lgkmcnt(0)" ::"v"(at));
    }
    c.end = clock64();
    c.wall_end = wall_clock64();
    c.at = at;
    out[blockIdx.x] = c;
}

// A clock for each load, as programs do that draw histograms of latencies.
extern "C" __global__ void each(const uint64_t *at, uint32_t *clocks, int steps)
{
    for (int i = 0; i < steps; i++) {
        const uint64_t begin = clock64();
        at = *(const uint64_t *const *)at;
        asm volatile("s_waitcnt vmcnt(0)" : "+v"(at));
        clocks[i] = (uint32_t)(clock64() - begin);
        asm volatile("s_waitcnt vmcnt(0)");
    }
}

// Each wave works for as long as its number says, then meets the others; clocks before and after.
extern "C" __global__ void meet(uint64_t *out, int rounds, int work)
{
    const unsigned wave = threadIdx.x / 64, waves = blockDim.x / 64;
    for (int r = 0; r < rounds; r++) {
        const int turns = __builtin_amdgcn_readfirstlane((wave + r) % waves * work);
        for (int i = 0; i < turns; i++)
            __builtin_amdgcn_s_sleep(1);
        const uint64_t before = clock64();
        __syncthreads();
        const uint64_t after = clock64();
        if (threadIdx.x % 64 == 0) {
            uint64_t *to = out + 2 * (((size_t)blockIdx.x * rounds + r) * waves + wave);
            to[0] = before;
            to[1] = after;
        }
    }
}

// The second wave waits, in the LDS, for the first one, which reads clocks all the while.
extern "C" __global__ void flag(uint64_t *out, int turns)
{
    __shared__ volatile uint32_t set;
    if (!threadIdx.x)
        set = 0;
    __syncthreads();
    uint64_t at = 0;
    if (threadIdx.x < 64) {
        const uint64_t begin = clock64();
        for (int i = 0; i < turns; i++) {
            __builtin_amdgcn_s_sleep(4);
            at = clock64() - begin;
        }
        set = 1;
    } else {
        const uint64_t begin = clock64();
        while (!set)
            ;
        at = clock64() - begin;
    }
    if (threadIdx.x % 64 == 0)
        out[threadIdx.x / 64] = at;
}

// The same through memory, where polls that change nothing are not noted.
extern "C" __global__ void memory_flag(uint64_t *out, int turns, uint32_t *set)
{
    uint64_t at = 0;
    if (threadIdx.x < 64) {
        const uint64_t begin = clock64();
        for (int i = 0; i < turns; i++) {
            __builtin_amdgcn_s_sleep(4);
            at = clock64() - begin;
        }
        __hip_atomic_store(set, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    } else {
        const uint64_t begin = clock64();
        while (!__hip_atomic_load(set, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP))
            ;
        at = clock64() - begin;
    }
    if (threadIdx.x % 64 == 0)
        out[threadIdx.x / 64] = at;
}

// Many clocks: each must be later than the one before. The last one's distance from the first.
extern "C" __global__ void rising(uint64_t *out, int turns)
{
    const uint64_t begin = clock64();
    uint64_t last = begin;
    int wrong = 0;
    for (int i = 0; i < turns; i++) {
        const uint64_t now = clock64();
        wrong += now <= last;
        last = now;
    }
    if (threadIdx.x % 64 == 0) {
        uint64_t *to = out + 2 * (blockIdx.x * (blockDim.x / 64) + threadIdx.x / 64);
        to[0] = wrong;
        to[1] = last - begin;
    }
}
