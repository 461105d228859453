// Kernels with and without races, labelled by their names: racy_*, clean_*, and benign_* for what is a note.
// checked.py runs all of them under `run --check` and counts what is found, missed and false.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

typedef void kernel_fn(int *, int *, unsigned *);
struct test_case {
    const char *name;
    kernel_fn *fn;
    int grid, block, launches;
};
static std::vector<test_case> &cases()
{
    static std::vector<test_case> all;
    return all;
}
struct registered {
    registered(const char *name, kernel_fn *fn, int grid, int block, int launches)
    {
        cases().push_back({name, fn, grid, block, launches});
    }
};
#define CASE_OF(name, grid, block, launches)                                                       \
    __global__ void name(int *, int *, unsigned *);                                                \
    static registered name##_case(#name, name, grid, block, launches);                             \
    __global__ void name(int *a, int *b, unsigned *t)
#define CASE(name) CASE_OF(name, 1, 256, 1)
#define GRID(name) CASE_OF(name, 8, 128, 1)
#define I          ((int)threadIdx.x)
#define ALL        ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#define AGENT      __HIP_MEMORY_SCOPE_AGENT
#define GROUP      __HIP_MEMORY_SCOPE_WORKGROUP

// ---- LDS, within a workgroup ----

CASE(clean_reverse)
{
    __shared__ int s[256];
    s[I] = a[I];
    __syncthreads();
    b[I] = s[255 - I];
}
CASE(racy_reverse)
{
    __shared__ int s[256];
    s[I] = a[I];
    __builtin_amdgcn_wave_barrier();
    b[I] = s[255 - I];
}
// More LDS writes than their counter holds, and scalar loads, which end in any order, among them.
#define WRITE_TWICE "ds_write_b32 %0, %1 offset:1024\nds_write_b32 %0, %1 offset:1024\n"
#define WRITE_16                                                                                   \
    WRITE_TWICE WRITE_TWICE WRITE_TWICE WRITE_TWICE WRITE_TWICE WRITE_TWICE WRITE_TWICE            \
        WRITE_TWICE "ds_write_b32 %0, %1\n"
#define WRITE_MANY(waits)                                                                          \
    asm volatile("s_getpc_b64 s[20:21]\ns_load_dword s20, s[20:21], 0x0\n" WRITE_16 waits          \
                 "s_barrier\n" WAITS_ALL ::"v"(4 * I),                                             \
                 "v"(a[I])                                                                         \
                 : "s20", "s21", "memory")
#define WAITS_ALL "s_waitcnt lgkmcnt(0)\n"
CASE(clean_full_counter)
{
    __shared__ int s[512];
    s[I] = 0;
    __syncthreads();
    WRITE_MANY(WAITS_ALL);
    b[I] = s[255 - I];
}
CASE(racy_full_counter)
{
    __shared__ int s[512];
    s[I] = 0;
    __syncthreads();
    WRITE_MANY("");
    b[I] = s[255 - I];
}
CASE(clean_tree)
{
    __shared__ int s[256];
    s[I] = a[I];
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (I < d)
            s[I] += s[I + d];
        __syncthreads();
    }
    b[I] = s[0];
}
CASE(racy_tree)
{
    __shared__ int s[256];
    s[I] = a[I];
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (I < d)
            s[I] += s[I + d];
        asm volatile("" ::: "memory");
    }
    b[I] = s[0];
}
CASE(racy_tree_begin)
{
    __shared__ int s[256];
    s[I] = a[I];
    for (int d = 128; d > 0; d /= 2) {
        if (I < d)
            s[I] += s[I + d];
        __syncthreads();
    }
    b[I] = s[0];
}
CASE(clean_tree_last_wave) // The last 64 are one wave: instructions are in order.
{
    __shared__ volatile int s[256];
    s[I] = a[I];
    __syncthreads();
    for (int d = 128; d >= 64; d /= 2) {
        if (I < d)
            s[I] += s[I + d];
        __syncthreads();
    }
    if (I < 32) {
        s[I] += s[I + 32];
        s[I] += s[I + 16];
        s[I] += s[I + 8];
        s[I] += s[I + 4];
        s[I] += s[I + 2];
        s[I] += s[I + 1];
    }
    if (I == 0)
        b[0] = s[0];
}
CASE(racy_scan)
{
    __shared__ int s[256];
    s[I] = a[I];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        int v = I >= d ? s[I - d] : 0;
        __syncthreads();
        s[I] += v;
        asm volatile("" ::: "memory");
    }
    b[I] = s[I];
}
CASE(clean_scan)
{
    __shared__ int s[256];
    s[I] = a[I];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        int v = I >= d ? s[I - d] : 0;
        __syncthreads();
        s[I] += v;
        __syncthreads();
    }
    b[I] = s[I];
}
CASE(clean_double_buffer)
{
    __shared__ int s[2][256];
    int sum = 0;
    s[0][I] = a[I];
    for (int k = 0; k < 8; k++) {
        __syncthreads();
        s[(k + 1) & 1][I] = a[I + 256 * k];
        sum += s[k & 1][255 - I];
    }
    b[I] = sum;
}
CASE(racy_single_buffer)
{
    __shared__ int s[256];
    int sum = 0;
    for (int k = 0; k < 8; k++) {
        s[I] = a[I + 256 * k];
        __syncthreads();
        sum += s[255 - I];
    }
    b[I] = sum;
}
CASE(racy_barrier_one_early)
{
    __shared__ int s[256];
    __syncthreads();
    s[I] = a[I];
    asm volatile("" ::: "memory");
    b[I] = s[(I + 64) & 255];
}
CASE(clean_own_elements)
{
    __shared__ int s[256];
    s[I] = a[I];
    asm volatile("" ::: "memory");
    b[I] = s[I];
}
CASE(clean_one_wave_shares)
{
    __shared__ int s[256];
    s[I] = a[I];
    asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
    b[I] = s[I ^ 63];
}
CASE(racy_waves_share)
{
    __shared__ int s[256];
    s[I] = a[I];
    asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
    b[I] = s[I ^ 64];
}
CASE(clean_histogram)
{
    __shared__ int s[64];
    if (I < 64)
        s[I] = 0;
    __syncthreads();
    atomicAdd(&s[a[I] & 63], 1);
    __syncthreads();
    if (I < 64)
        b[I] = s[I];
}
CASE(racy_histogram_plain)
{
    __shared__ int s[64];
    if (I < 64)
        s[I] = 0;
    __syncthreads();
    s[I & 63]++;
    __syncthreads();
    if (I < 64)
        b[I] = s[I];
}
CASE(racy_histogram_zero)
{
    __shared__ int s[64];
    if (I < 64)
        s[I] = 0;
    asm volatile("" ::: "memory");
    atomicAdd(&s[a[I] & 63], 1);
    __syncthreads();
    if (I < 64)
        b[I] = s[I];
}
CASE(racy_histogram_flush)
{
    __shared__ int s[64];
    if (I < 64)
        s[I] = 0;
    __syncthreads();
    atomicAdd(&s[I & 63], 1);
    asm volatile("" ::: "memory");
    if (I < 64)
        b[I] = s[I];
}
GRID(clean_max_float_global) // The first load is plain, and here a scalar one.
{
    const float v = (float)a[ALL];
    unsigned *p = (unsigned *)&t[2], old = *p, seen;
    do {
        seen = old;
        old = atomicCAS(p, seen, __float_as_uint(fmaxf(__uint_as_float(seen), v)));
    } while (old != seen);
}
CASE(racy_volatile_plus_plus) // by one work-item of each wave of a workgroup
{
    if ((I & 63) == 0)
        ++*(volatile int *)b;
}
CASE(clean_volatile_by_turns)
{
    for (int wave = 0; wave < 4; wave++) {
        if (I == 64 * wave)
            ++*(volatile int *)b;
        __syncthreads();
    }
}
CASE(clean_volatile_baton) // The wave that has it gives it to the next one.
{
    volatile unsigned *turn = t;
    if ((I & 63) == 0) {
        while (*turn != (unsigned)I / 64)
            ;
        *turn = *turn + 1;
    }
}
GRID(racy_plus_plus) // by one work-item of each wave
{
    if ((I & 63) == 0)
        b[0]++;
}
GRID(racy_atomic_then_store)
{
    if ((I & 63) == 0) {
        atomicAdd(&t[3], 1u);
        t[3] = blockIdx.x;
    }
}
CASE(clean_max_float) // HIP's loop of compare and swap begins with a load.
{
    __shared__ float s;
    if (I == 0)
        s = 0;
    __syncthreads();
    float v = (float)a[I];
    unsigned *p = (unsigned *)&s, old = *p, seen;
    do {
        seen = old;
        old = atomicCAS(p, seen, __float_as_uint(fmaxf(__uint_as_float(seen), v)));
    } while (old != seen);
    __syncthreads();
    b[I] = (int)s;
}
CASE(clean_flag_in_lds) // One wave waits for another one.
{
    __shared__ int data;
    __shared__ int ready;
    if (I == 0)
        ready = 0;
    __syncthreads();
    if (I == 64) {
        data = a[0];
        __hip_atomic_store(&ready, 1, __ATOMIC_RELEASE, GROUP);
    }
    if (I == 0) {
        while (!__hip_atomic_load(&ready, __ATOMIC_ACQUIRE, GROUP))
            __builtin_amdgcn_s_sleep(1);
        b[0] = data;
    }
}
CASE(clean_flat_flag) // In LDS as far as the run is concerned, which the compiler cannot know.
{
    __shared__ int data, ready;
    if (I == 0)
        ready = 0;
    __syncthreads();
    int *flag = a[5] == 77 ? (int *)t : &ready;
    if (I == 64) {
        data = a[0] + 1;
        __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, GROUP);
    }
    if (I == 0) {
        while (!__hip_atomic_load(flag, __ATOMIC_ACQUIRE, GROUP))
            __builtin_amdgcn_s_sleep(1);
        b[0] = data;
    }
}
CASE(racy_flat_flag) // Nobody waits.
{
    __shared__ int data, ready;
    if (I == 0)
        ready = 0;
    __syncthreads();
    int *flag = a[5] == 77 ? (int *)t : &ready;
    if (I == 64) {
        data = a[0] + 1;
        __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, GROUP);
    }
    if (I == 0) {
        const int seen = __hip_atomic_load(flag, __ATOMIC_ACQUIRE, GROUP);
        b[0] = data + seen;
    }
}
CASE(clean_counter_in_lds)
{
    __shared__ int part[4];
    __shared__ unsigned arrived;
    if (I == 0)
        arrived = 0;
    __syncthreads();
    if (I % 64 == 0) {
        part[I / 64] = a[I];
        if (__hip_atomic_fetch_add(&arrived, 1u, __ATOMIC_ACQ_REL, GROUP) == 3)
            b[0] = part[0] + part[1] + part[2] + part[3];
    }
}
CASE(racy_counter_in_lds) // The parts are written behind the arrival.
{
    __shared__ int part[4];
    __shared__ unsigned arrived;
    if (I == 0)
        arrived = 0;
    __syncthreads();
    if (I % 64 == 0) {
        unsigned n = __hip_atomic_fetch_add(&arrived, 1u, __ATOMIC_ACQ_REL, GROUP);
        part[I / 64] = a[I];
        asm volatile("" ::: "memory");
        if (n == 3)
            b[0] = part[0] + part[1] + part[2] + part[3];
    }
}
CASE(racy_raw_barrier) // A barrier without the wait in front of it: the store may still be on its way.
{
    __shared__ int s[256];
    int v = a[I];
    unsigned at = (unsigned)(size_t)(__attribute__((address_space(3))) int *)&s[I];
    unsigned other = (unsigned)(size_t)(__attribute__((address_space(3))) int *)&s[I ^ 64];
    int got;
    asm volatile("ds_write_b32 %1, %2\n\ts_barrier\n\tds_read_b32 %0, %3\n\ts_waitcnt lgkmcnt(0)"
                 : "=v"(got)
                 : "v"(at), "v"(v), "v"(other)
                 : "memory");
    b[I] = got;
    if (v == 123456789)
        b[1] = s[v & 255];
}
CASE(clean_raw_barrier)
{
    __shared__ int s[256];
    int v = a[I];
    unsigned at = (unsigned)(size_t)(__attribute__((address_space(3))) int *)&s[I];
    unsigned other = (unsigned)(size_t)(__attribute__((address_space(3))) int *)&s[I ^ 64];
    int got;
    asm volatile("ds_write_b32 %1, %2\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_read_b32 %0, "
                 "%3\n\ts_waitcnt lgkmcnt(0)"
                 : "=v"(got)
                 : "v"(at), "v"(v), "v"(other)
                 : "memory");
    b[I] = got;
    if (v == 123456789)
        b[1] = s[v & 255];
}
CASE(racy_last_flag) // Others read the flag before it is written.
{
    __shared__ int last;
    if (I == 0)
        last = a[0] + 1;
    asm volatile("" ::: "memory");
    b[I] = last;
}
CASE(benign_same_flag) // All that write it write the same.
{
    __shared__ int any;
    any = 0;
    __syncthreads();
    if (a[I] == 0)
        any = 1;
    __syncthreads();
    b[I] = any;
}
CASE(racy_same_flag_read_late) // Without the second barrier: a wave reads the flag before another has set it.
{
    __shared__ int any;
    any = 0;
    __syncthreads();
    if (I >= 64)
        any = 1;
    b[I] = any;
}
CASE(racy_same_flag_no_barrier) // Two waves store the same, and a third reads it with no barrier.
{
    __shared__ int any;
    if (I < 128)
        any = 1;
    asm volatile("" ::: "memory");
    b[I] = any;
}
CASE(benign_same_bytes) // The bytes beside it are others' business.
{
    __shared__ bool found[256];
    found[I] = true;
    __syncthreads();
    if (I % 64 == 0)
        found[5] = true;
    __syncthreads();
    b[I] = found[I];
}
CASE(racy_bytes_of_one_wave) // A wave stores all bytes of its dwords, of which another reads the first.
{
    __shared__ char s[256];
    s[I] = (char)a[I];
    asm volatile("" ::: "memory");
    b[I] = s[(I * 4) & 255];
}
CASE(clean_bytes) // Neighbouring bytes of one dword are different places.
{
    __shared__ char s[256];
    s[(I % 64) * 4 + I / 64] = (char)a[I];
    __syncthreads();
    b[I] = s[I];
}
CASE(racy_bytes)
{
    __shared__ char s[256];
    s[(I % 64) * 4 + I / 64] = (char)a[I];
    asm volatile("" ::: "memory");
    b[I] = s[(I % 64) * 4 + (I / 64 ^ 1)];
}
CASE_OF(clean_one_wave_block, 1, 64, 1)
{
    __shared__ int s[64];
    s[I] = a[I];
    __syncthreads();
    b[I] = s[63 - I];
}
CASE(clean_tile) // A tile of cooperative groups is part of a wave.
{
    __shared__ int s[256];
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    s[I] = a[I];
    tile.sync();
    b[I] = s[I ^ 31];
}
CASE(clean_group_sync)
{
    __shared__ int s[256];
    s[I] = a[I];
    cg::this_thread_block().sync();
    b[I] = s[255 - I];
}
CASE(clean_shuffle)
{
    int v = a[I];
    for (int d = 32; d > 0; d /= 2)
        v += __shfl_down(v, d);
    __shared__ int s[4];
    if (I % 64 == 0)
        s[I / 64] = v;
    __syncthreads();
    if (I == 0)
        b[0] = s[0] + s[1] + s[2] + s[3];
}
CASE(racy_shuffle)
{
    int v = a[I];
    for (int d = 32; d > 0; d /= 2)
        v += __shfl_down(v, d);
    __shared__ int s[4];
    if (I % 64 == 0)
        s[I / 64] = v;
    asm volatile("" ::: "memory");
    if (I == 0)
        b[0] = s[0] + s[1] + s[2] + s[3];
}
CASE(clean_early_exit) // A wave that has ended counts as arrived.
{
    __shared__ int s[256];
    if (I >= 192)
        return;
    s[I] = a[I];
    __syncthreads();
    b[I] = s[191 - I];
}
CASE(racy_lanes_collide)
{
    __shared__ int s[64];
    if (I < 64)
        s[I / 2] = I;
    __syncthreads();
    b[I] = s[I & 31];
}
CASE(clean_lanes_agree)
{
    __shared__ int s[64];
    if (I < 64)
        s[I / 2] = I / 2;
    __syncthreads();
    b[I] = s[I & 31];
}

// ---- memory, within a workgroup ----

CASE(clean_memory_reverse)
{
    a[I] = I;
    __syncthreads();
    b[I] = a[255 - I];
}
CASE(racy_memory_reverse)
{
    a[I] = I;
    asm volatile("" ::: "memory");
    b[I] = a[255 - I];
}
CASE(racy_in_place)
{
    int v = a[I];
    asm volatile("" ::: "memory");
    a[255 - I] = v + 1 + I;
}
CASE(clean_in_place)
{
    int v = a[I];
    __syncthreads();
    a[255 - I] = v + 1 + I;
}

// ---- memory, between workgroups ----

GRID(clean_own_memory)
{
    b[ALL] = a[ALL] + 1;
}
GRID(racy_neighbour)
{
    b[ALL] = a[ALL] + ALL;
    asm volatile("" ::: "memory");
    if (ALL >= 128)
        a[ALL] = b[ALL - 128];
}
GRID(racy_plain_sum)
{
    if (I == 0)
        b[0] += (int)blockIdx.x + 1;
}
GRID(clean_atomic_sum)
{
    atomicAdd(b, 1);
}
GRID(clean_group_scope_atomic) // The instruction is the same as that of the agent's scope.
{
    __hip_atomic_fetch_add(b, 1, __ATOMIC_RELAXED, GROUP);
}
GRID(racy_atomic_and_plain)
{
    if (blockIdx.x == 0)
        b[I] = I + 1;
    else
        atomicAdd(&b[I], 1);
}
GRID(racy_read_of_atomic)
{
    if (blockIdx.x == 0)
        a[ALL + 1024] = b[I];
    else
        atomicAdd(&b[I], 1);
}
GRID(racy_load_and_store) // Two atomics are no atomic update.
{
    if (I == 0) {
        int v = __hip_atomic_load(b, __ATOMIC_RELAXED, AGENT);
        __hip_atomic_store(b, v + 1, __ATOMIC_RELAXED, AGENT);
    }
}
// A loop that counts by an atomic as far as another workgroup says does more than wait for it.
GRID(racy_length_of_a_loop)
{
    if (ALL == 0)
        a[1020] = 3;
    for (int i = I; i < a[1020]; i += 128)
        atomicAdd(&b[i & 255], 1);
}
GRID(benign_same_everywhere)
{
    b[I] = I;
}
GRID(racy_different_everywhere)
{
    b[I] = ALL;
}

#define TICKET(write, release, read)                                                               \
    __shared__ bool last;                                                                          \
    if (I == 0) {                                                                                  \
        write;                                                                                     \
        release;                                                                                   \
    }                                                                                              \
    __syncthreads();                                                                               \
    if (last && I < 8)                                                                             \
    b[I] = read
#define DRAW last = atomicAdd(t, 1u) == gridDim.x - 1

GRID(clean_ticket)
{
    TICKET(a[blockIdx.x] = 7 + (int)blockIdx.x, __threadfence(); DRAW; __threadfence(), a[I]);
}
GRID(clean_ticket_volatile)
{
    TICKET(a[blockIdx.x] = 7 + (int)blockIdx.x, __threadfence(); DRAW, ((volatile int *)a)[I]);
}
GRID(clean_ticket_acquire_release)
{
    TICKET(a[blockIdx.x] = 7 + (int)blockIdx.x,
           last = __hip_atomic_fetch_add(t, 1u, __ATOMIC_ACQ_REL, AGENT) == gridDim.x - 1, a[I]);
}
GRID(clean_ticket_system)
{
    TICKET(a[blockIdx.x] = 7 + (int)blockIdx.x, __threadfence_system(); DRAW;
           __threadfence_system(), a[I]);
}
GRID(clean_ticket_all_threads) // All threads write and fence, then one draws.
{
    __shared__ bool last;
    a[ALL] = ALL;
    __threadfence();
    __syncthreads();
    if (I == 0)
        DRAW;
    __syncthreads();
    if (last) {
        __threadfence();
        b[I] = a[I] + a[I + 128] + a[I + 896];
    }
}
GRID(clean_ticket_fence_of_one) // The barrier orders others' stores before one thread's fence.
{
    __shared__ bool last;
    a[ALL] = ALL;
    __syncthreads();
    if (I == 0) {
        __threadfence();
        DRAW;
        __threadfence();
    }
    __syncthreads();
    if (last)
        b[I] = a[I] + a[I + 128] + a[I + 896];
}
GRID(racy_ticket_no_fence)
{
    TICKET(a[blockIdx.x] = 7 + (int)blockIdx.x, DRAW, ((volatile int *)a)[I]);
}
GRID(racy_ticket_no_acquire)
{
    TICKET(a[blockIdx.x] = 7 + (int)blockIdx.x,
           last = __hip_atomic_fetch_add(t, 1u, __ATOMIC_RELEASE, AGENT) == gridDim.x - 1, a[I]);
}
GRID(racy_ticket_fence_late)
{
    TICKET(a[blockIdx.x] = 7 + (int)blockIdx.x, DRAW; __threadfence(), ((volatile int *)a)[I]);
}
GRID(racy_ticket_first)
{
    TICKET(DRAW; __threadfence(), a[blockIdx.x] = 7 + (int)blockIdx.x, ((volatile int *)a)[I]);
}
GRID(racy_ticket_group_fence)
{
    TICKET(a[blockIdx.x] = 7 + (int)blockIdx.x, __threadfence_block(); DRAW,
           ((volatile int *)a)[I]);
}
GRID(racy_ticket_plain)
{
    TICKET(a[blockIdx.x] = 7 + (int)blockIdx.x, __threadfence(); last = t[0]++ == gridDim.x - 1,
           ((volatile int *)a)[I]);
}
GRID(racy_ticket_others_fence_missing) // Only the drawing thread's own store is behind its fence.
{
    __shared__ bool last;
    if (I == 0) {
        __threadfence();
        DRAW;
    }
    a[ALL] = ALL;
    __syncthreads();
    if (last) {
        __threadfence();
        b[I] = a[I] + a[I + 128];
    }
}
GRID(clean_chain) // Each workgroup waits for the one before it.
{
    if (I == 0) {
        while (__hip_atomic_load(t, __ATOMIC_ACQUIRE, AGENT) != blockIdx.x)
            __builtin_amdgcn_s_sleep(1);
        b[0] += (int)blockIdx.x;
        __hip_atomic_store(t, blockIdx.x + 1, __ATOMIC_RELEASE, AGENT);
    }
}
GRID(racy_chain_relaxed)
{
    if (I == 0) {
        while (__hip_atomic_load(t, __ATOMIC_RELAXED, AGENT) != blockIdx.x)
            __builtin_amdgcn_s_sleep(1);
        b[0] += (int)blockIdx.x;
        __hip_atomic_store(t, blockIdx.x + 1, __ATOMIC_RELAXED, AGENT);
    }
}
GRID(clean_lock)
{
    if (I == 0) {
        while (atomicCAS(t, 0u, 1u))
            __builtin_amdgcn_s_sleep(1);
        __threadfence();
        b[0] += (int)blockIdx.x;
        __threadfence();
        atomicExch(t, 0u);
    }
}
GRID(racy_lock_no_fence)
{
    if (I == 0) {
        while (atomicCAS(t, 0u, 1u))
            __builtin_amdgcn_s_sleep(1);
        b[0] += (int)blockIdx.x;
        atomicExch(t, 0u);
    }
}
GRID(clean_grid_barrier) // By hand: a counter that all wait for.
{
    a[ALL] = ALL;
    __syncthreads();
    if (I == 0) {
        __hip_atomic_fetch_add(t, 1u, __ATOMIC_ACQ_REL, AGENT);
        while (__hip_atomic_load(t, __ATOMIC_ACQUIRE, AGENT) != gridDim.x)
            __builtin_amdgcn_s_sleep(1);
    }
    __syncthreads();
    b[ALL] = a[1023 - ALL];
}
GRID(racy_grid_barrier) // Nobody waits.
{
    a[ALL] = ALL;
    __syncthreads();
    if (I == 0)
        __hip_atomic_fetch_add(t, 1u, __ATOMIC_ACQ_REL, AGENT);
    __syncthreads();
    b[ALL] = a[1023 - ALL];
}
GRID(clean_queue) // Places of a queue are drawn by an atomic.
{
    b[atomicAdd(t, 1u)] = ALL;
}
GRID(clean_malloc) // HIP's own, whose workgroups give each other memory.
{
    if (I < 2) {
        int *p = (int *)malloc(64);
        if (p)
            *p = ALL;
        b[ALL] = p ? *p : 0;
        free(p);
    }
}
CASE_OF(clean_many_launches, 8, 128, 4) // Kernels of one stream are in order.
{
    if (t[ALL]++ & 1)
        a[ALL] = b[1023 - ALL] + 1;
    else
        b[ALL] = a[1023 - ALL] + 1;
}
CASE_OF(racy_many_launches, 8, 128, 4)
{
    b[1023 - ALL] = ALL;
    asm volatile("" ::: "memory");
    a[1023 - ALL] = b[ALL] + 1;
}

// ---- cooperative launch ----

__global__ void clean_cooperative(int *a, int *b, unsigned *)
{
    for (int k = 0; k < 3; k++) {
        a[ALL] = ALL + k;
        cg::this_grid().sync();
        b[ALL] = a[1023 - ALL];
        cg::this_grid().sync();
    }
}
__global__ void racy_cooperative(int *a, int *b, unsigned *)
{
    for (int k = 0; k < 3; k++) {
        a[ALL] = ALL + k;
        b[ALL] = a[1023 - ALL];
        cg::this_grid().sync();
    }
}

#define OK(call)                                                                                   \
    do {                                                                                           \
        hipError_t error_ = (call);                                                                \
        if (error_ != hipSuccess) {                                                                \
            fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error_));                         \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

int main(int argc, char **argv)
{
    int *a, *b;
    unsigned *t;
    const size_t bytes = 65536;
    OK(hipMalloc(&a, bytes));
    OK(hipMalloc(&b, bytes));
    OK(hipMalloc(&t, bytes));
    cases().push_back({"clean_cooperative", clean_cooperative, -8, 128, 1});
    cases().push_back({"racy_cooperative", racy_cooperative, -8, 128, 1});
    for (const test_case &c : cases()) {
        if (argc > 1 && std::string(argv[1]) != c.name)
            continue;
        OK(hipMemset(a, 0, bytes));
        OK(hipMemset(b, 0, bytes));
        OK(hipMemset(t, 0, bytes));
        void *args[] = {&a, &b, &t};
        for (int k = 0; k < c.launches; k++) {
            if (c.grid < 0)
                OK(hipLaunchCooperativeKernel(c.fn, dim3(-c.grid), dim3(c.block), args, 0, 0));
            else
                c.fn<<<c.grid, c.block>>>(a, b, t);
        }
        OK(hipDeviceSynchronize());
        puts(c.name);
    }
    return 0;
}
