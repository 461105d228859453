// Pairs of kernels that do the same in two ways, of which documents say which is faster, and roughly
// how much, on CDNA3: test_directions.c.
#include <hip/hip_runtime.h>
#include <stdint.h>

// A polynomial, one and eight steps of it in a turn of the loop.
template <int STEP> static __device__ float poly(float x, int n)
{
    float y = x;
#pragma nounroll
    for (int i = 0; i < n; i += STEP)
#pragma unroll
        for (int k = 0; k < STEP; k++)
            y = y * x + 0.5f;
    return y;
}

extern "C" __global__ void rolled(float *out, float x, int n)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = poly<1>(x, n);
}

extern "C" __global__ void unrolled(float *out, float x, int n)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = poly<8>(x, n);
}

// Columns of a tile of 64 rows: with 64 words in a row, all lanes of a wave want the same bank.
template <int ROW> static __device__ void columns(uint32_t *out, int rounds)
{
    __shared__ uint32_t tile[64 * ROW];
    for (int i = threadIdx.x; i < 64 * ROW; i += blockDim.x)
        tile[i] = i;
    __syncthreads();
    const uint32_t *row = tile + threadIdx.x % 64 * ROW;
    uint32_t sum = 0;
    for (int k = 0; k < rounds; k++)
#pragma unroll
        for (int i = 0; i < 64; i++) {
            sum += row[i];
            asm volatile("" ::: "memory"); // one at a time, and each time again
        }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ __launch_bounds__(512) void columns_plain(uint32_t *out, int rounds)
{
    columns<64>(out, rounds);
}

extern "C" __global__ __launch_bounds__(512) void columns_padded(uint32_t *out, int rounds)
{
    columns<65>(out, rounds);
}

// A transpose through such a tile, 32 by 32 by a block of 32 by 8.
template <int ROW> static __device__ void transpose(const float *in, float *out, int width)
{
    __shared__ float tile[32 * ROW];
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        tile[(threadIdx.y + k) * ROW + threadIdx.x] = in[(size_t)(y + k) * width + x];
    __syncthreads();
    const int tx = blockIdx.y * 32 + threadIdx.x, ty = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        out[(size_t)(ty + k) * width + tx] = tile[threadIdx.x * ROW + threadIdx.y + k];
}

extern "C" __global__ void transpose_plain(const float *in, float *out, int width)
{
    transpose<32>(in, out, width);
}

extern "C" __global__ void transpose_padded(const float *in, float *out, int width)
{
    transpose<33>(in, out, width);
}

// Every thread reads eight words a round: neighbours lie `stride` words apart.
extern "C" __global__ void strided(const float *in, float *out, int stride, int rounds)
{
    const size_t threads = (size_t)gridDim.x * blockDim.x;
    size_t at = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * stride;
    float sum = 0;
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int k = 0; k < 8; k++)
            sum += in[at + k * threads * stride];
        at += 8 * threads * stride;
    }
    if (sum == 1.5f)
        out[0] = sum;
}

// Loads that depend on each other, somewhere in memory: nothing but latency. What else the kernel
// takes of the compute unit says how many waves there is room for.
static __device__ void wander(const uint32_t *in, uint32_t *out, uint32_t mask, int steps)
{
    uint32_t at = (blockIdx.x * blockDim.x + threadIdx.x) / 64 * 2654435761u;
    for (int i = 0; i < steps; i++) {
        at = at * 1664525u + 1013904223u;
        at += in[at & mask];
        asm volatile("" : "+v"(at));
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

extern "C" __global__ __launch_bounds__(256) void wander_lds(const uint32_t *in, uint32_t *out,
                                                             uint32_t mask, int steps)
{
    extern __shared__ uint32_t dynamic[];
    if (steps < 0)
        dynamic[threadIdx.x] = 0;
    wander(in, out, mask, steps);
}

#define WANDER(registers, last)                                                                    \
    extern "C" __global__ __launch_bounds__(256) void wander_##registers(                          \
        const uint32_t *in, uint32_t *out, uint32_t mask, int steps)                               \
    {                                                                                              \
        asm volatile("" ::: last);                                                                 \
        wander(in, out, mask, steps);                                                              \
    }

WANDER(64, "v63")
WANDER(128, "v127")
WANDER(256, "v255")

// A copy, limited by memory's bandwidth, with the same registers.
#define COPY(registers, last)                                                                      \
    extern "C" __global__ __launch_bounds__(256) void copy_##registers(const float4 *in,           \
                                                                       float4 *out)                \
    {                                                                                              \
        asm volatile("" ::: last);                                                                 \
        const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;                            \
        out[i] = in[i];                                                                            \
    }

COPY(64, "v63")
COPY(128, "v127")
