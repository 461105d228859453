// Kernels of `rocm-perf bench`: each keeps one part of the GPU busy, and nothing else. All take the same arguments: two
// places in memory, how often a wave does its work, and how much memory a block has, in rounds of 16 KiB.
#ifndef __HIPCC_RTC__
#include <hip/hip_runtime.h>
#endif

typedef unsigned int u32;
typedef unsigned long long u64;

#define ARGUMENTS char *from, char *to, u32 times, u32 rounds
#define KERNEL(most, name) extern "C" __global__ __launch_bounds__(most) void bench_##name(ARGUMENTS)

// What is loaded is used, and memory may have changed: nothing is left out, nothing is kept in registers.
#define USE(v) asm volatile("" ::"v"(v.x), "v"(v.y), "v"(v.z), "v"(v.w) : "memory")

// --- bandwidth: blocks of 1024 work-items, each with a part of memory of its own ------------------------------------

#define PART(pointer) ((float4 *)(pointer) + (u64)blockIdx.x * rounds * 1024 + threadIdx.x)

KERNEL(1024, read)
{
    const float4 *own = PART(from);

    for (u32 time = 0; time < times; time++)
        for (u32 r = 0; r < rounds; r += 4) {
            const float4 a = own[r * 1024], b = own[r * 1024 + 1024], c = own[r * 1024 + 2048], d = own[r * 1024 + 3072];
            USE(a);
            USE(b);
            USE(c);
            USE(d);
        }
}

// All blocks read the same memory, each from another place on, so that the L1 of a compute unit has not what it reads next.
KERNEL(1024, read_shared)
{
    const float4 *all = (const float4 *)from + threadIdx.x;
    u32 r = blockIdx.x / 8 * 5 % rounds;

    for (u32 time = 0; time < times; time += 4) {
        float4 got[4];

#pragma unroll
        for (int i = 0; i < 4; i++, r = r + 1 < rounds ? r + 1 : 0)
            got[i] = all[r * 1024];
        USE(got[0]);
        USE(got[1]);
        USE(got[2]);
        USE(got[3]);
    }
}

KERNEL(1024, write)
{
    float4 *own = PART(to);

    for (u32 time = 0; time < times; time++)
        for (u32 r = 0; r < rounds; r++) {
            own[r * 1024] = make_float4(1, 2, 3, 4);
            asm volatile("" ::: "memory");
        }
}

KERNEL(1024, copy)
{
    const float4 *own = PART(from);
    float4 *its = PART(to);

    for (u32 time = 0; time < times; time++)
        for (u32 r = 0; r < rounds; r += 4) {
            const float4 a = own[r * 1024], b = own[r * 1024 + 1024], c = own[r * 1024 + 2048], d = own[r * 1024 + 3072];
            its[r * 1024] = a;
            its[r * 1024 + 1024] = b;
            its[r * 1024 + 2048] = c;
            its[r * 1024 + 3072] = d;
            asm volatile("" ::: "memory");
        }
}

// 16 KiB for each block, which the vector L1 holds: 64 KiB are read each time.
KERNEL(1024, l1)
{
    const float4 *own = (const float4 *)from + blockIdx.x * 1024;
    const u32 at = threadIdx.x;

    for (u32 time = 0; time < times; time++) {
        const float4 a = own[at], b = own[(at + 256) % 1024], c = own[(at + 512) % 1024], d = own[(at + 768) % 1024];
        USE(a);
        USE(b);
        USE(c);
        USE(d);
    }
}

// 128 KiB of LDS are read each time.
KERNEL(1024, lds)
{
    __shared__ float4 lds[1024];
    __attribute__((address_space(3))) float4 *own = (__attribute__((address_space(3))) float4 *)lds + threadIdx.x;

    *own = make_float4(1, 2, 3, 4);
    __syncthreads();
    for (u32 time = 0; time < times; time++) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            asm volatile("" : "+v"(own));
            const float4 got = *own;
            USE(got);
        }
    }
}

typedef u32 scalar_line __attribute__((ext_vector_type(16)));

// 256 bytes, which all waves read twice each time.
KERNEL(1024, scalar)
{
    const __attribute__((address_space(4))) scalar_line *at = (const __attribute__((address_space(4))) scalar_line *)(u64)from;

    for (u32 time = 0; time < times; time++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            asm volatile("" : "+s"(at)); // It may be another place each time.
            const scalar_line a = at[0], b = at[1], c = at[2], d = at[3];
            asm volatile("" ::"s"(a), "s"(b), "s"(c), "s"(d));
        }
}

// --- latency: what is loaded is where the next load is from ---------------------------------------------------------

// Makes the ring: so many lines (a power of two), and the bytes from one to the next. All of them are in it once, in an
// order that nothing foresees: the numbers of a generator of full period.
KERNEL(64, ring)
{
    const u32 at = blockIdx.x * 64 + threadIdx.x, next = (at * 1664525u + 1013904223u) & (times - 1);

    if (at < times)
        *(char **)(from + (u64)at * rounds) = from + (u64)next * rounds;
}

KERNEL(64, chase)
{
    const u64 *at = (const u64 *)from;

    for (u32 time = 0; time < times; time += 64)
#pragma unroll
        for (int k = 0; k < 64; k++) {
            at = *(const u64 *const *)at;
            asm volatile("" : "+v"(at)); // In vector registers, and as good as volatile, without passing by the L1.
        }
    *(const u64 **)to = at;
}

typedef const __attribute__((address_space(4))) u64 constant_word;

KERNEL(64, chase_scalar)
{
    constant_word *at = (constant_word *)(u64)from;

    for (u32 time = 0; time < times; time += 64)
#pragma unroll
        for (int k = 0; k < 64; k++)
            at = (constant_word *)*at;
    *(constant_word **)to = at;
}

KERNEL(64, chase_lds)
{
    __shared__ u32 next[64];
    u32 at = 0;

    next[threadIdx.x] = (threadIdx.x + 1) % 64 * 4;
    __syncthreads();
    for (u32 time = 0; time < times; time += 64)
#pragma unroll
        for (int k = 0; k < 64; k++)
            at = *(volatile u32 *)((char *)next + at);
    ((u32 *)to)[threadIdx.x] = at;
}

// --- vector instructions: 256 of them each time, of 8 chains that do not depend on each other -----------------------

#define VALU(name, type, text)                                                                                          \
    KERNEL(1024, name)                                                                                                  \
    {                                                                                                                   \
        type x[8] = {(type)1, (type)1, (type)1, (type)1, (type)1, (type)1, (type)1, (type)1};                           \
        const type y = (type)1;                                                                                         \
                                                                                                                        \
        for (u32 time = 0; time < times; time++) {                                                                      \
            _Pragma("unroll") for (int i = 0; i < 256; i++) asm volatile(text : "+v"(x[i % 8]) : "v"(y));               \
        }                                                                                                               \
        asm volatile("" ::"v"(x[0]), "v"(x[1]), "v"(x[2]), "v"(x[3]), "v"(x[4]), "v"(x[5]), "v"(x[6]), "v"(x[7]));      \
    }

typedef float float_2 __attribute__((ext_vector_type(2)));
typedef _Float16 half_2 __attribute__((ext_vector_type(2)));

VALU(fma_f32, float, "v_fmac_f32 %0, %1, %1")
VALU(fma_f64, double, "v_fma_f64 %0, %0, %1, -%1")
VALU(fma_f16, half_2, "v_pk_fma_f16 %0, %0, %1, %1")
VALU(mad_i32, u32, "v_mad_u32_u24 %0, %0, %1, %1")
VALU(exp, float, "v_exp_f32 %0, %0")
VALU(rcp, float, "v_rcp_f32 %0, %0")
VALU(sqrt, float, "v_sqrt_f32 %0, %0")
VALU(sin, float, "v_sin_f32 %0, %0")
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
VALU(pk_fma_f32, float_2, "v_pk_fma_f32 %0, %0, %1, %1")
#endif

// --- matrix instructions: 64 of them each time, into 4 accumulators in turn -----------------------------------------

#define MATRIX(name, sum, type, value, builtin, ...)                                                                    \
    KERNEL(256, name)                                                                                                   \
    {                                                                                                                   \
        const type a = value;                                                                                           \
        sum s[4] = {};                                                                                                  \
                                                                                                                        \
        for (u32 time = 0; time < times; time++) {                                                                      \
            _Pragma("unroll") for (int i = 0; i < 64; i++) s[i % 4] =                                                   \
                __builtin_amdgcn_mfma_##builtin(a, a, s[i % 4], __VA_ARGS__);                                           \
        }                                                                                                               \
        asm volatile("" ::"v"(s[0]), "v"(s[1]), "v"(s[2]), "v"(s[3]));                                                  \
    }

typedef float float_16 __attribute__((ext_vector_type(16)));
typedef int int_16 __attribute__((ext_vector_type(16)));
typedef double double_4 __attribute__((ext_vector_type(4)));
typedef _Float16 half_4 __attribute__((ext_vector_type(4)));
typedef _Float16 half_8 __attribute__((ext_vector_type(8)));
typedef short short_2 __attribute__((ext_vector_type(2)));
typedef short short_4 __attribute__((ext_vector_type(4)));
typedef __bf16 bf16_8 __attribute__((ext_vector_type(8)));
typedef int int_4 __attribute__((ext_vector_type(4)));
typedef int int_8 __attribute__((ext_vector_type(8)));

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
MATRIX(mfma_f32, float_16, float, 1, f32_32x32x2f32, 0, 0, 0)
#endif
#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__)
MATRIX(mfma_f16, float_16, half_4, 1, f32_32x32x8f16, 0, 0, 0)
#endif
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
MATRIX(mfma_f64, double_4, double, 1, f64_16x16x4f64, 0, 0, 0)
#endif
#if defined(__gfx908__)
MATRIX(mfma_bf16, float_16, short_2, 0x3f80, f32_32x32x4bf16, 0, 0, 0)
#elif defined(__gfx90a__) || defined(__gfx942__)
MATRIX(mfma_bf16, float_16, short_4, 0x3f80, f32_32x32x8bf16_1k, 0, 0, 0)
#endif
#if defined(__gfx908__) || defined(__gfx90a__)
MATRIX(mfma_i8, int_16, int, 0x01010101, i32_32x32x8i8, 0, 0, 0)
#endif
#if defined(__gfx942__)
MATRIX(mfma_xf32, float_16, float_2, 1, f32_32x32x4_xf32, 0, 0, 0)
MATRIX(mfma_i8, int_16, long, 0x0101010101010101, i32_32x32x16_i8, 0, 0, 0)
MATRIX(mfma_f8, float_16, long, 0x0101010101010101, f32_32x32x16_fp8_fp8, 0, 0, 0)
#endif
#if defined(__gfx950__)
MATRIX(mfma_f16, float_16, half_8, 1, f32_32x32x16_f16, 0, 0, 0)
MATRIX(mfma_bf16, float_16, bf16_8, (__bf16)1, f32_32x32x16_bf16, 0, 0, 0)
MATRIX(mfma_i8, int_16, int_4, 0x01010101, i32_32x32x32_i8, 0, 0, 0)
// Formats of both operands (0 is fp8, 2 is f6, 4 is f4), and scales of one.
MATRIX(mfma_f8, float_16, int_8, 0x01010101, scale_f32_32x32x64_f8f6f4, 0, 0, 0, 0x7f7f7f7f, 0, 0x7f7f7f7f)
MATRIX(mfma_f6, float_16, int_8, 0x01010101, scale_f32_32x32x64_f8f6f4, 2, 2, 0, 0x7f7f7f7f, 0, 0x7f7f7f7f)
MATRIX(mfma_f4, float_16, int_8, 0x01010101, scale_f32_32x32x64_f8f6f4, 4, 4, 0, 0x7f7f7f7f, 0, 0x7f7f7f7f)
#endif

// --- atomics, without a result --------------------------------------------------------------------------------------

static __device__ void add(u32 *word, u32 times)
{
    for (u32 time = 0; time < times; time++)
        __hip_atomic_fetch_add(word, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

KERNEL(512, atomics)
{
    add((u32 *)to + blockIdx.x * 512 + threadIdx.x, times);
}

KERNEL(512, atomics_one_word)
{
    add((u32 *)to, times);
}

KERNEL(64, empty)
{
}
