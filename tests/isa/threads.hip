// Kernels whose workgroups meet in memory, for the test that the number of threads does not matter.
#include <hip/hip_runtime.h>

// The sum depends on the order of the additions.
extern "C" __global__ void float_sum(const float *in, float *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&sum[i % 7], in[i]);
}

// Each work-item uses the sum it found: the atomic returns a value.
extern "C" __global__ void float_found(const float *in, float *sum, float *found, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        found[i] = atomicAdd(&sum[i % 3], in[i]) * 0.5f;
}

// Reads what its own atomics have made of memory.
extern "C" __global__ void own_atomics(int *a, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&a[i], i);
    atomicMax(&a[i], 17);
    out[i] = a[i] * 2;
    atomicXor(&a[i], 5);
    a[i] += 1;
}

static __device__ unsigned work(unsigned seed, int turns)
{
    for (int i = 0; i < turns; i++)
        seed = seed * 1664525u + 1013904223u + (seed >> 7);
    return seed;
}

// Blocks draw what they do from a common counter; some have much to do, some nothing.
extern "C" __global__ void tickets(unsigned *next, unsigned *out, unsigned *who, int n)
{
    __shared__ unsigned ticket;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0)
            ticket = atomicAdd(next, 1u);
        __syncthreads();
        if (ticket >= (unsigned)n)
            return;
        out[ticket * blockDim.x + threadIdx.x] =
            work(ticket * 64 + threadIdx.x, ticket % 5 ? 10 : 2000);
        if (threadIdx.x == 0)
            who[ticket] = blockIdx.x;
    }
}

// Uneven blocks without any communication; every third one ends at once.
extern "C" __global__ void uneven_work(unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x % 3 == 1)
        return;
    out[i] = work(i, blockIdx.x % 16 == 0 ? 5000 : (int)(blockIdx.x % 7) * 20);
}

// A barrier between all blocks, several times; a plain array is exchanged across it.
extern "C" __global__ void grid_barrier(unsigned *arrived, unsigned *a, unsigned *b, int rounds)
{
    unsigned n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = 0; r < rounds; r++) {
        b[i] = a[(i * 7 + r) % n] * 3 + i;
        __syncthreads();
        if (threadIdx.x == 0) {
            __hip_atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
            while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) <
                   (2 * r + 1) * gridDim.x)
                __builtin_amdgcn_s_sleep(2);
        }
        __syncthreads();
        a[i] = b[(i * 5 + 1) % n] ^ r;
        __syncthreads();
        if (threadIdx.x == 0) {
            __hip_atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
            while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) <
                   (2 * r + 2) * gridDim.x)
                ;
        }
        __syncthreads();
    }
}

// Decoupled look-back prefix sum: state 1 = the block's own sum is there, 2 = the whole prefix.
extern "C" __global__ void scan(const unsigned *in, unsigned *out, unsigned long long *state)
{
    __shared__ unsigned part[256], base;
    unsigned t = threadIdx.x, i = blockIdx.x * 256 + t;
    part[t] = in[i];
    __syncthreads();
    for (unsigned s = 1; s < 256; s *= 2) {
        unsigned v = t >= s ? part[t - s] : 0;
        __syncthreads();
        part[t] += v;
        __syncthreads();
    }
    if (t == 0) {
        unsigned sum = part[255], before = 0;
        if (blockIdx.x)
            __hip_atomic_store(&state[blockIdx.x], 1ull << 32 | sum, __ATOMIC_RELEASE,
                               __HIP_MEMORY_SCOPE_AGENT);
        for (int p = (int)blockIdx.x - 1; p >= 0;) {
            unsigned long long s =
                __hip_atomic_load(&state[p], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
            if (!(s >> 32))
                continue;
            before += (unsigned)s;
            if (s >> 32 == 2)
                break;
            p--;
        }
        __hip_atomic_store(&state[blockIdx.x], 2ull << 32 | (before + sum), __ATOMIC_RELEASE,
                           __HIP_MEMORY_SCOPE_AGENT);
        base = before;
    }
    __syncthreads();
    out[i] = part[t] + base;
}

// A lock taken by spinning, around an update that does not commute.
extern "C" __global__ void locked(int *lock, unsigned *value)
{
    if (threadIdx.x)
        return;
    while (atomicCAS(lock, 0, 1))
        __builtin_amdgcn_s_sleep(1);
    __threadfence();
    *value = *value * 5 + blockIdx.x;
    __threadfence();
    atomicExch(lock, 0);
}

// The last block to finish adds up what the others wrote (threadFenceReduction).
extern "C" __global__ void last_block(const float *in, float *part, unsigned *done, float *sum)
{
    __shared__ bool last;
    part[blockIdx.x * blockDim.x + threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x] * 1.5f;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float s = 0;
        for (unsigned i = 0; i < gridDim.x * blockDim.x; i++)
            s += part[i];
        *sum = s;
    }
}

// Blocks in `bad` and those behind it go wrong, each elsewhere, after uneven work.
extern "C" __global__ void wild(unsigned *out, unsigned long long hole, unsigned bad)
{
    unsigned b = blockIdx.x;
    unsigned v = work(b * 64 + threadIdx.x, b % 4 == bad % 4 ? 3000 : 3);
    if (b >= bad && (b - bad) % 3 == 0)
        *(volatile unsigned *)(hole + b * 4096ull + threadIdx.x * 4) = v;
    out[b * blockDim.x + threadIdx.x] = v;
}

// The next block adds to this one's cell, without asking for the value before, and then says so: who
// has heard it must see all of the sum.
extern "C" __global__ void told_by_next(int *cell, int *flag, int *out)
{
    int b = blockIdx.x, blocks = gridDim.x;
    if (b > 0)
        __hip_atomic_fetch_add(&cell[b - 1], (int)threadIdx.x + b, __ATOMIC_RELAXED,
                               __HIP_MEMORY_SCOPE_AGENT);
    __threadfence();
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    __hip_atomic_store(&flag[b], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    if (b + 1 == blocks)
        return;
    while (!__hip_atomic_load(&flag[b + 1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT))
        ;
    out[b] = __hip_atomic_load(&cell[b], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// Waits for the next block, which is not given to the device before this one.
extern "C" __global__ void wait_for_next(int *flag)
{
    unsigned b = gridDim.x - 1 - blockIdx.x; // counted from the end
    if (threadIdx.x)
        return;
    if (b)
        while (!__hip_atomic_load(&flag[b - 1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) ||
               !__hip_atomic_load(&flag[0], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT))
            ;
    __hip_atomic_store(&flag[b], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

// Short blocks, and behind them some that wait for their neighbour, eight at a time: with it they
// would have been given to one place of the device.
extern "C" __global__ void wait_among_short(unsigned *out, int *flag, int first)
{
    int b = blockIdx.x;
    out[b * blockDim.x + threadIdx.x] = work(b, 2);
    if (threadIdx.x || b < first)
        return;
    if (b % 8 != 7)
        while (!__hip_atomic_load(&flag[b + 1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT))
            ;
    __hip_atomic_store(&flag[b], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

// What every workgroup is told about itself.
extern "C" __global__ void clock_starts(unsigned long long *out)
{
    if (threadIdx.x == 0)
        out[blockIdx.x] = wall_clock64();
    work(threadIdx.x, 3);
}

// ---- what hardware does at the start, the end and the barriers of workgroups ----

// Waves end one after another; the others' barriers must not wait for them. Two waves end at once.
extern "C" __global__ void barriers_and_ends(int *out)
{
    int wave = threadIdx.x / 64, waves = blockDim.x / 64;
    if (wave == 1)
        return;
    for (int round = 0; round < waves; round++) {
        if (wave != 0 && wave == round)
            return;
        __syncthreads();
        if (threadIdx.x == 0)
            out[blockIdx.x * 16 + round] = round + 1;
    }
}

// Ids as the hardware sets them up; the last group in each dimension may be smaller.
extern "C" __global__ void partial(unsigned *out, int nx, int ny, int bx, int by, int bz)
{
    unsigned x = blockIdx.x * bx + threadIdx.x, y = blockIdx.y * by + threadIdx.y,
             z = blockIdx.z * bz + threadIdx.z;
    atomicAdd(&out[(z * ny + y) * nx + x], 1u);
}

// The hidden arguments about group counts and sizes, read by name.
extern "C" __global__ void hidden(unsigned *out)
{
    const unsigned char *implicit = (const unsigned char *)__builtin_amdgcn_implicitarg_ptr();
    if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
        for (int d = 0; d < 3; d++) {
            out[d] = ((const unsigned *)implicit)[d];
            out[3 + d] = ((const unsigned short *)implicit)[6 + d];
            out[6 + d] = ((const unsigned short *)implicit)[9 + d];
        }
    }
}

extern "C" __global__ void hardware_registers(unsigned *out)
{
    unsigned xcc = 0, mode, status;
#ifndef __gfx90a__ // which has one XCC and no such register
    asm volatile("s_getreg_b32 %0, hwreg(HW_REG_XCC_ID)" : "=s"(xcc));
#endif
    asm volatile("s_getreg_b32 %0, hwreg(HW_REG_MODE, 0, 10)" : "=s"(mode));
    asm volatile("s_getreg_b32 %0, hwreg(HW_REG_STATUS)" : "=s"(status));
    if (threadIdx.x == 0) {
        out[blockIdx.x * 4] = xcc;
        out[blockIdx.x * 4 + 1] = mode;
        out[blockIdx.x * 4 + 2] = status >> 9 & 1; // EXECZ
        out[blockIdx.x * 4 + 3] = status >> 11 & 1; // in a workgroup of several waves
    }
}

extern "C" __global__ void register_without_model(unsigned *out)
{
    unsigned value;
    asm volatile("s_getreg_b32 %0, hwreg(HW_REG_LDS_ALLOC)" : "=s"(value));
    out[threadIdx.x] = value;
}

extern "C" __global__ void two_clocks(unsigned long long *out)
{
    unsigned long long shader, real, shader_after, real_after;
    asm volatile("s_memtime %0\n s_memrealtime %1\n s_waitcnt lgkmcnt(0)" : "=s"(shader), "=s"(real));
    for (int i = 0; i < 100; i++)
        __builtin_amdgcn_s_sleep(100);
    asm volatile("s_memtime %0\n s_memrealtime %1\n s_waitcnt lgkmcnt(0)"
                 : "=s"(shader_after), "=s"(real_after));
    if (threadIdx.x == 0) {
        out[0] = shader_after - shader;
        out[1] = real_after - real;
        out[2] = real;
    }
}

extern "C" __global__ void message(unsigned *out)
{
    if (blockIdx.x == 3 && threadIdx.x < 64)
        __builtin_amdgcn_s_sendmsg(1, 0x2a);
    out[blockIdx.x] = 1;
}

extern "C" __global__ void debug_trap(unsigned *out)
{
    __builtin_debugtrap();
    out[threadIdx.x] = threadIdx.x + 5;
}
