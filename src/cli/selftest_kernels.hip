// Kernels of `rocm-perf doctor --selftest`. What each executes, and what it leaves in memory, is known by
// construction: instructions that are counted are written as assembly, which no compiler adds to or takes from.
#ifndef __HIPCC_RTC__
#include <hip/hip_runtime.h>
#endif

#define KERNEL extern "C" __global__ __launch_bounds__(256)
typedef unsigned int u32;

// Each work-item loads a number, makes x into 1 - x with 16 * rounds fused multiply-adds, which leave it as it was, writes
// it to LDS, reads that of its neighbour, and stores it. Blocks have 256 work-items.
KERNEL void selftest_known(float *out, const float *in, u32 rounds)
{
    __shared__ float lds[256];
    const u32 at = blockIdx.x * 256 + threadIdx.x;
    float x = in[at];

    for (u32 round = 0; round < rounds; round++) {
#pragma unroll
        for (int i = 0; i < 16; i++)
            asm volatile("v_fma_f32 %0, %0, -1.0, 1.0" : "+v"(x));
    }
    lds[threadIdx.x] = x;
    __syncthreads();
    out[at] = lds[threadIdx.x ^ 1];
}

// Adds one to what an earlier kernel has written: wrong where it did not wait for that.
KERNEL void selftest_after(float *out, const float *in)
{
    const u32 at = blockIdx.x * 256 + threadIdx.x;
    out[at] = in[at] + 1.0f;
}

// Changes memory in place, so that what was there before can only be known by a capture.
KERNEL void selftest_change(u32 *memory, u32 times)
{
    const u32 at = blockIdx.x * 256 + threadIdx.x;
    memory[at] = memory[at] * times + at;
}

// Copies 16 bytes for each work-item.
KERNEL void selftest_copy(float4 *to, const float4 *from)
{
    const u32 at = blockIdx.x * 256 + threadIdx.x;
    to[at] = from[at];
}

// Every block reads the same 1 MiB, each from another place on, so that L1 has not what the next block needs: from L2.
KERNEL void selftest_cache(float4 *out, const float4 *from, u32 rounds)
{
    const u32 words = (1 << 20) / sizeof(float4);
    u32 at = ((blockIdx.x * 2654435761u >> 10) / 256 * 256 + threadIdx.x) % words;
    float4 sum = make_float4(0, 0, 0, 0);

    for (u32 round = 0; round < rounds; round++) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const float4 got = from[at];
            sum.x += got.x, sum.y += got.y, sum.z += got.z, sum.w += got.w;
            at = (at + 256) % words;
        }
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

// Reads 8 * rounds times 16 bytes of LDS for each work-item.
KERNEL void selftest_lds(float4 *out, u32 rounds)
{
    __shared__ float4 lds[512];
    float4 sum = make_float4(0, 0, 0, 0);

    lds[threadIdx.x] = make_float4(1, 2, 3, 4);
    lds[threadIdx.x + 256] = make_float4(1, 2, 3, 4);
    __syncthreads();
    for (u32 round = 0; round < rounds; round++) {
        const volatile float4 *from = lds + (round & 1) * 64;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const float4 got = *(const float4 *)&from[threadIdx.x + i * 16];
            sum.x += got.x, sum.y += got.y, sum.z += got.z, sum.w += got.w;
        }
        asm volatile("" ::: "memory");
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

// 32 * rounds fused multiply-adds of 8 independent numbers for each work-item, which leave them as they were.
KERNEL void selftest_fma(float *out, u32 rounds)
{
    float x[8];

    for (int i = 0; i < 8; i++)
        x[i] = (float)(threadIdx.x + i);
    for (u32 round = 0; round < rounds; round++) {
#pragma unroll
        for (int i = 0; i < 32; i++)
            asm volatile("v_fma_f32 %0, %0, -1.0, 1.0" : "+v"(x[i & 7]));
    }
    out[blockIdx.x * 256 + threadIdx.x] = x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7];
}

// What the instructions for reciprocals, roots, powers and angles give: each function of each input, 7 results.
KERNEL void selftest_approximate(float *out, const float *in, u32 count)
{
    const u32 at = blockIdx.x * 256 + threadIdx.x;
    const float x = in[at];

    out[0 * count + at] = __builtin_amdgcn_rcpf(x);
    out[1 * count + at] = __builtin_amdgcn_sqrtf(x);
    out[2 * count + at] = __builtin_amdgcn_rsqf(x);
    out[3 * count + at] = __builtin_amdgcn_exp2f(x);
    out[4 * count + at] = __builtin_amdgcn_logf(x);
    out[5 * count + at] = __builtin_amdgcn_sinf(x);
    out[6 * count + at] = __builtin_amdgcn_cosf(x);
}

// 4 * rounds matrix products 32x32x8 of f16 for each wave; small whole numbers, so that every sum is exact.
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float16 __attribute__((ext_vector_type(16)));

KERNEL void selftest_matrix(float *out, u32 rounds)
{
    const half4 a = {1, 2, 1, 2}, b = {(_Float16)1, 1, 2, 1};
    float16 sum[4] = {};
    float all = 0;

    for (u32 round = 0; round < rounds; round++) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            sum[i] = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, sum[i], 0, 0, 0);
    }
    for (int i = 0; i < 4; i++)
        all += sum[i][0];
    out[blockIdx.x * 256 + threadIdx.x] = all;
}
#endif
