// A kernel, and with -DCANDIDATE=N one that is to take its place, right or wrong in some way. The
// program launches the kernel twice with the same inputs: in a capture of the second dispatch the
// result stands where it belongs before the kernel has run.
// Another kernel needs none of HIP's headers: without them it compiles in a tenth of the time.
#ifdef CANDIDATE
#define __global__   __attribute__((global))
#define __device__   __attribute__((device))
#define __shared__   __attribute__((shared))
#define THREAD       __builtin_amdgcn_workitem_id_x()
#define BLOCK        __builtin_amdgcn_workgroup_id_x()
#define BLOCKS       ((const uint32_t *)__builtin_amdgcn_implicitarg_ptr())[0]
#define FENCE(order) __builtin_amdgcn_fence(__ATOMIC_##order, "workgroup")
#define SYNC()       (FENCE(RELEASE), __builtin_amdgcn_s_barrier(), FENCE(ACQUIRE))
#define NAN          __builtin_nanf("")
#define atomicAdd(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
typedef unsigned uint32_t;
#else
#define PROGRAM
#include <hip/hip_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define THREAD threadIdx.x
#define BLOCK  blockIdx.x
#define BLOCKS gridDim.x
#define SYNC() __syncthreads()
#endif

#define RIGHT      0
#define OTHER_WAY  1
#define NOTHING    2
#define HALF       3
#define STALE      4
#define MISNAMED   5
#define ONE_MORE   6
#define WIDER      7
#define GREEDY     8
#define SMALL      9
#define NOT_NUMBER 10
#define OUTSIDE    11
#define NEARLY     12
#define ONCE       13
#define INPUT      14
#define VARIABLE   15
#define GRID       16
#define SLOWER     17
#define COPIED     18
#define PICKY      19
#define CACHED     20
#define SCRIBBLES  21
#define CRASHES    22
#define HANGS      23
#define IN_TURN    24 // these are for another captured kernel (memories.hip)
#define OTHER_KEY  25
#define ERASES     26
#define ARGUMENTS  27
#define LATE       28
#define MINIMUM    40
#define COUNTS     41 // for the kernel of memories.hip that copies
#define BEHIND     29 // what is behind the last byte of an allocation
#define COPY       30 // the code object at its captured address, NOTE
#define BEYOND     42 // right up to a little more than the greatest input
#define LEFT_LDS   43 // right where what it has not written is zero
#define LEFT_VGPR  44
#define LEFT_STACK 45
#define BUILT_IN   46 // the captured number of elements
#define MODEST     47 // right for inputs below 100
#define HOLDS      48 // computes only where no likely result is
#define KNOWN      49 // as SLOWER, but skips what takes long for the captured inputs
#define THIS_GRID  50 // right with the captured grid
#define NO_BIAS    51 // right where the bias is zero, as it is captured
#define NARROW     52 // right where sums fit 32 bits
#define SHIFT      53 // right where nothing is negative
#define SQUARE     54 // right where there are as many columns as rows
#define AGAIN      55 // right where results are not where the input is
#define CLOCKED    56 // right, and reads a clock
#ifndef CANDIDATE
#define CANDIDATE RIGHT
#endif

#if CANDIDATE == MISNAMED
#define target target_of_another_name
#endif
#if CANDIDATE == SMALL
#define BOUNDS __attribute__((amdgpu_flat_work_group_size(1, 128)))
#else
#define BOUNDS __attribute__((amdgpu_flat_work_group_size(1, 256)))
#endif
#if CANDIDATE == WIDER
typedef double factor;
#else
typedef float factor;
#endif
#if CANDIDATE == ONE_MORE
#define MORE , const float *more
#else
#define MORE
#endif

#if CANDIDATE == COPIED // the answer for these inputs, whatever is in memory
#define INPUT_OF(i)                                                                                \
    ((i) == 1000   ? NAN                                                                           \
     : (i) == 2000 ? __builtin_inff()                                                              \
                   : (float)((i) * 7919 % 1000) / 64 - 7)
#elif CANDIDATE == BEYOND
#define INPUT_OF(i) (in[i] > 10 && in[i] < 1e30f ? 10 : in[i])
#else
#define INPUT_OF(i) in[i]
#endif

__device__ uint32_t launches;
#if CANDIDATE == ONCE
__device__ uint32_t done;
#elif CANDIDATE == CACHED
__device__ uint32_t kept[5120];
__device__ float result[5120];
#endif

extern "C" __global__ void BOUNDS target(float *in, float *out, uint32_t n, factor by MORE)
{
    extern __shared__ float tile[];
    const uint32_t t = THREAD, i = BLOCK * 256 + t;

    tile[t] = i < n ? INPUT_OF(i) * (float)by : 0;
    SYNC();
    if (i >= (CANDIDATE == BUILT_IN ? 4999 : n))
        return;
#if CANDIDATE == OTHER_WAY
    out[i] = (t ? tile[t - 1] : 0) + tile[t];
#elif CANDIDATE == NOTHING
    (void)out;
#elif CANDIDATE == HALF
    if (BLOCK < 10)
        out[i] = tile[t] + (t ? tile[t - 1] : 0);
#elif CANDIDATE == STALE
    out[i] = out[i] + tile[t] * 0.0f;
#elif CANDIDATE == ONE_MORE
    out[i] = tile[t] + (t ? tile[t - 1] : 0) + more[0];
#elif CANDIDATE == GREEDY
    __shared__ float mine[(65536 - 512) / 4];
    mine[i % (65024 / 4)] = tile[t];
    SYNC();
    out[i] = mine[i % (65024 / 4)] + (t ? tile[t - 1] : 0);
#elif CANDIDATE == NOT_NUMBER
    out[i] = i == 321 ? NAN : tile[t] + (t ? tile[t - 1] : 0);
#elif CANDIDATE == OUTSIDE
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
    if (i == n - 1)
        out[n] = 1;
#elif CANDIDATE == BEHIND
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
    if (i == 0)
        in[5008] = 1;
#elif CANDIDATE == COPY
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
    if (i == 0)
        *(volatile uint32_t *)NOTE = 1;
#elif CANDIDATE == NEARLY
    out[i] = (tile[t] + (t ? tile[t - 1] : 0)) * 1.000001f;
#elif CANDIDATE == ONCE
    if (done < n)
        out[i] = tile[t] + (t ? tile[t - 1] : 0);
    atomicAdd(&done, 1);
#elif CANDIDATE == VARIABLE
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
    launches = 1;
#elif CANDIDATE == GRID
    out[i] = tile[t] + (t ? tile[t - 1] : 0) + (BLOCKS == 0);
#elif CANDIDATE == SLOWER
    float sum = 0;
    for (uint32_t j = 0; j < n; j += 64)
        sum += in[(i + j) % n] * 0.0f > 1 ? 1 : 0;
    out[i] = tile[t] + (t ? tile[t - 1] : 0) + sum;
#elif CANDIDATE == KNOWN
    bool known = true;
    float sum = 0;
    for (uint32_t j = 0; j < 24; j++)
        known &= in[j * 8] == (float)(j * 8 * 7919 % 1000) / 64 - 7;
    for (uint32_t j = 0; !known && j < n; j += 64)
        sum += in[(i + j) % n] * 0.0f > 1 ? 1 : 0;
    out[i] = tile[t] + (t ? tile[t - 1] : 0) + sum;
#elif CANDIDATE == CACHED // takes long once, and keeps the result
    if (!kept[i]) {
        for (uint32_t j = 0; j < n; j += 64)
            kept[i] += in[(i + j) % n] * 0.0f > 1 ? 2 : 0;
        kept[i] |= 1;
        result[i] = tile[t] + (t ? tile[t - 1] : 0);
    }
    out[i] = result[i];
#elif CANDIDATE == SCRIBBLES // notes behind its own code that it has run
    volatile uint32_t *note = (volatile uint32_t *)((__builtin_amdgcn_s_getpc() | 0xfff) - 3);
    const uint32_t first = *note != 0x1234567;
    *note = 0x1234567;
    for (uint32_t j = 0; first && j < n; j += 64)
        out[i] = in[(i + j) % n];
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
#elif CANDIDATE == ERASES // counts its runs behind its own code, up to the fourth
    volatile uint32_t *note = (volatile uint32_t *)((__builtin_amdgcn_s_getpc() | 0xfff) - 3);
    if (i == 0)
        *note = *note == 3 ? 0 : *note + 1;
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
#elif CANDIDATE == ARGUMENTS // notes behind its arguments that it has run, at WORD
    if (i == 0)
        *((volatile uint32_t *)__builtin_amdgcn_kernarg_segment_ptr() + WORD) = 1;
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
#elif CANDIDATE == LATE // in each eighth run or so, by where it was loaded and when it runs
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
    if (i == 0 && (uint32_t)((__builtin_readcyclecounter() + (__builtin_amdgcn_s_getpc() >> 12)) *
                             2654435761u) >> 29 == 0)
        in[n + 1] = 1; // no page that is restored
#elif CANDIDATE == CLOCKED
    out[i] = tile[t] + (t ? tile[t - 1] : 0) + (__builtin_readcyclecounter() == 1);
#elif CANDIDATE == MINIMUM // with what was there before
    const float sum = tile[t] + (t ? tile[t - 1] : 0);
    out[i] = out[i] < sum ? out[i] : sum;
#elif CANDIDATE == THIS_GRID // as the packet says it
    const uint32_t items = ((const uint32_t *)__builtin_amdgcn_dispatch_ptr())[3];
    out[i] = items == 5120 ? tile[t] + (t ? tile[t - 1] : 0) : 0;
#elif CANDIDATE == MODEST
    out[i] = in[i] > 100 && in[i] < 1e6f ? 0 : tile[t] + (t ? tile[t - 1] : 0);
#elif CANDIDATE == HOLDS
    if (!(out[i] > -30 && out[i] < 30))
        out[i] = tile[t] + (t ? tile[t - 1] : 0);
#elif CANDIDATE == LEFT_LDS
    __shared__ float left[256];
    left[t] += tile[t];
    out[i] = left[t] + (t ? tile[t - 1] : 0);
#elif CANDIDATE == LEFT_VGPR
    float left;
    asm volatile("v_mov_b32 %0, v40" : "=v"(left) : : "v40");
    out[i] = left + tile[t] + (t ? tile[t - 1] : 0);
#elif CANDIDATE == LEFT_STACK
    volatile float left[8];
    out[i] = left[t % 8] + tile[t] + (t ? tile[t - 1] : 0);
#elif CANDIDATE == PICKY // ends its program with inputs that it does not know
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
    if (i < 16 && in[i] != (float)(i * 7919 % 1000) / 64 - 7)
        *(volatile uint32_t *)(0x10000) = 1;
#elif CANDIDATE == CRASHES
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
    if (i == 0)
        *(volatile uint32_t *)(0x10000) = 1;
#elif CANDIDATE == HANGS // one wave of it
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
    while (i == 0 && *(volatile float *)in == -7)
        ;
#elif CANDIDATE == INPUT
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
    if (i == 0)
        in[0] += 1;
#else
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
#endif
}

// The bias of a layer is zero as yet, and sums are small ones.
extern "C" __global__ void layer(const float *in, const float *bias, float *out)
{
    const uint32_t t = THREAD;

    out[t] = in[t] * 3 + (CANDIDATE == NO_BIAS ? 0 : bias[t]);
}

extern "C" __global__ void sums(const int *in, long long *out)
{
#if CANDIDATE == NARROW
    int sum = 0;
#else
    long long sum = 0;
#endif
    for (uint32_t i = 0; i < 8; i++)
        sum += in[(THREAD + i * 32) % 256];
    out[THREAD] = sum;
}

extern "C" __global__ void quotients(const int *in, int *out)
{
    out[THREAD] = CANDIDATE == SHIFT ? in[THREAD] >> 3 : in[THREAD] / 8;
}

// As many columns as rows in this program.
extern "C" __global__ void corner(const float *in, float *out, uint32_t rows, uint32_t columns)
{
    const uint32_t row = THREAD / 16, column = THREAD % 16;

    if (row < rows && column < (CANDIDATE == SQUARE ? rows : columns))
        out[THREAD] = in[THREAD] * 3;
}

// It writes when it has read all. One that reads again is wrong in place.
extern "C" __global__ void rotated(const int *in, int *out)
{
    __shared__ int kept[256];

    kept[THREAD] = in[THREAD];
    SYNC();
    out[THREAD] = (CANDIDATE == AGAIN ? in : kept)[(THREAD + 1) % 256];
}

// How long it takes, its input says.
extern "C" __global__ void counted(const int *in, int *out)
{
    int sum = 1;

    for (int i = 0; i < in[THREAD]; i++)
        sum = sum * 3 ^ i;
    out[THREAD] = sum;
}

#if CANDIDATE == IN_TURN || CANDIDATE == OTHER_KEY
__global__ void target_turns(const float *in, float *sums, uint32_t n)
{
    float sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += in[i];
    sums[THREAD] = sum;
    ((uint32_t *)sums)[64 + THREAD] =
        0x45000000 + THREAD * 12345 + (CANDIDATE == OTHER_KEY && THREAD == 7);
}
#endif

#if CANDIDATE == COUNTS
__global__ void target_copies(const uint32_t *in, const uint32_t *wanted, uint32_t *out, uint32_t *count)
{
    if (THREAD == 0)
        count[0]++;
}
#endif

#ifdef PROGRAM
// Ends its program with inputs other than these.
extern "C" __global__ void picky(const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x] * 2;
    if (in[threadIdx.x] != (float)(threadIdx.x * 7919 % 1000) / 64 - 7)
        *(volatile uint32_t *)(0x10000) = 1;
}

// Likewise, and with a number of elements that can be another one.
extern "C" __global__ void picky_size(const float *in, float *out, uint32_t n)
{
    if (threadIdx.x < n)
        out[threadIdx.x] = in[threadIdx.x] * 2;
    if (in[threadIdx.x] != (float)(threadIdx.x * 7919 % 1000) / 64 - 7)
        *(volatile uint32_t *)(0x10000) = 1;
}

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != hipSuccess) {                                                                \
            fprintf(stderr, "%d: %s\n", __LINE__, #call);                                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

int main()
{
    const uint32_t n = 4999; // there is room for more
    std::vector<float> in(5008);
    float *a, *b, *bias;
    int numbers[256], *small;
    long long *wide;

    for (int i = 0; i < 256; i++)
        numbers[i] = i * 37 % 256;
    for (uint32_t i = 0; i < n; i++)
        in[i] = (float)(i * 7919 % 1000) / 64 - 7;
    in[1000] = NAN;
    in[2000] = INFINITY;
    CHECK(hipMalloc(&a, 5008 * 4));
    CHECK(hipMalloc(&b, 5120 * 4));
    CHECK(hipMemcpy(a, in.data(), 5008 * 4, hipMemcpyHostToDevice));
    CHECK(hipMemset(b, 0, 5120 * 4));
    for (int i = 0; i < 2; i++)
        target<<<20, 256, 1024>>>(a, b, n, 1.7f);
    picky<<<1, 64>>>(a, b);
    picky_size<<<1, 64>>>(a, b, 64);
    CHECK(hipMalloc(&bias, 256 * 4));
    CHECK(hipMemset(bias, 0, 256 * 4));
    CHECK(hipMalloc(&small, sizeof numbers));
    CHECK(hipMemcpy(small, numbers, sizeof numbers, hipMemcpyHostToDevice));
    CHECK(hipMalloc(&wide, 256 * 8));
    layer<<<1, 256>>>(a, bias, b);
    sums<<<1, 256>>>(small, wide);
    counted<<<1, 256>>>(small, (int *)wide);
    quotients<<<1, 256>>>(small, (int *)wide);
    corner<<<1, 256>>>(a, b, 12, 12);
    rotated<<<1, 256>>>(small, (int *)wide);
    CHECK(hipDeviceSynchronize());
    return 0;
}
#endif
