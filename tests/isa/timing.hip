// Kernels whose time on an MI300X is known or follows from what is documented, for the timing model.
#include <hip/hip_runtime.h>
#include <stdint.h>

// The vector copy of rocprof-compute's sample.
extern "C" __global__ void vec_copy(const double *a, double *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i];
}

// BabelStream's kernels: one element for each thread; dot with a fixed number of blocks.
extern "C" __global__ void stream_copy(const double *a, double *c)
{
    const size_t i = (size_t)blockDim.x * blockIdx.x + threadIdx.x;
    c[i] = a[i];
}

extern "C" __global__ void stream_mul(double *b, const double *c)
{
    const size_t i = (size_t)blockDim.x * blockIdx.x + threadIdx.x;
    b[i] = 0.4 * c[i];
}

extern "C" __global__ void stream_add(const double *a, const double *b, double *c)
{
    const size_t i = (size_t)blockDim.x * blockIdx.x + threadIdx.x;
    c[i] = a[i] + b[i];
}

extern "C" __global__ void stream_triad(double *a, const double *b, const double *c)
{
    const size_t i = (size_t)blockDim.x * blockIdx.x + threadIdx.x;
    a[i] = b[i] + 0.4 * c[i];
}

extern "C" __global__ __launch_bounds__(1024) void stream_dot(const double *a, const double *b,
                                                              double *sums, size_t n)
{
    __shared__ double part[1024];
    const size_t step = (size_t)gridDim.x * blockDim.x;
    double sum = 0;
    for (size_t i = (size_t)blockDim.x * blockIdx.x + threadIdx.x; i < n; i += step)
        sum += a[i] * b[i];
    part[threadIdx.x] = sum;
    for (unsigned half = blockDim.x / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (!threadIdx.x)
        sums[blockIdx.x] = part[0];
}

// Pointer chases: what is loaded is where the next load is from.
extern "C" __global__ void chase(const uint64_t *at, const uint64_t **out, int steps)
{
    for (int i = 0; i < steps; i += 16)
#pragma unroll
        for (int k = 0; k < 16; k++) {
            at = *(const uint64_t *const *)at;
            asm volatile("" : "+v"(at)); // as good as volatile, without bypassing the L1
        }
    *out = at;
}

typedef const __attribute__((address_space(4))) uint64_t constant_word;

extern "C" __global__ void chase_scalar(constant_word *at, constant_word **out, int steps)
{
    for (int i = 0; i < steps; i += 16)
#pragma unroll
        for (int k = 0; k < 16; k++)
            at = (constant_word *)*at;
    *out = at;
}

extern "C" __global__ void chase_lds(uint32_t *out, int steps)
{
    __shared__ uint32_t next[64];
    next[threadIdx.x] = (threadIdx.x + 1) % 64 * 4; // in bytes
    __syncthreads();
    uint32_t at = 0;
    if (!threadIdx.x)
        for (int i = 0; i < steps; i += 16)
#pragma unroll
            for (int k = 0; k < 16; k++)
                at = *(volatile uint32_t *)((char *)next + at);
    out[threadIdx.x] = at;
}

// Each block of 1024 threads has its own part, 16 KiB in a round.
extern "C" __global__ __launch_bounds__(1024) void read_blocks(const float4 *in, float *out,
                                                               int rounds, int laps)
{
    const float4 *own = in + (size_t)blockIdx.x * rounds * 1024 + threadIdx.x;
    float sum = 0;
    for (int lap = 0; lap < laps; lap++)
        for (int r = 0; r < rounds; r++) {
            float4 v = ((const float4 *)__builtin_assume_aligned(own, 16))[r * 1024];
            asm volatile("" ::"v"(v.x), "v"(v.w) : "memory");
            sum += v.x;
        }
    if (sum == 1.5f)
        out[0] = sum;
}

extern "C" __global__ __launch_bounds__(1024) void write_blocks(float4 *to, int rounds, int laps)
{
    float4 *own = to + (size_t)blockIdx.x * rounds * 1024 + threadIdx.x;
    for (int lap = 0; lap < laps; lap++)
        for (int r = 0; r < rounds; r++) {
            own[r * 1024] = float4{1, 2, 3, (float)lap};
            asm volatile("" ::: "memory");
        }
}

// Workgroups of the dies of a mask, of which there are eight, do more than others.
extern "C" __global__ void split(float *out, uint32_t mask, int rounds)
{
    const int own = mask >> blockIdx.x % 8 & 1 ? rounds : rounds / 40;
    float x = threadIdx.x;
    for (int i = 0; i < own; i++)
        x = x * 1.0001f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// Columns of a 64 x 64 tile: with rows of 64 words every lane has the same bank.
template <int ROW> static __device__ void columns(uint32_t *out, int rounds)
{
    __shared__ uint32_t tile[64 * ROW];
    for (int i = 0; i < 64; i++)
        tile[i * ROW + threadIdx.x] = i + threadIdx.x;
    __syncthreads();
    uint32_t sum = 0;
    for (int k = 0; k < rounds; k++)
        for (int i = 0; i < 64; i++)
            sum += ((volatile uint32_t *)tile)[threadIdx.x * ROW + i];
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}

extern "C" __global__ __launch_bounds__(64) void columns_plain(uint32_t *out, int rounds)
{
    columns<64>(out, rounds);
}

extern "C" __global__ __launch_bounds__(64) void columns_padded(uint32_t *out, int rounds)
{
    columns<65>(out, rounds);
}

extern "C" __global__ void gather(const float *in, float *out, int stride, int mask)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[(size_t)(i * stride) & mask];
}

extern "C" __global__ void gather_by_index(const float *in, const int *index, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[index[i]];
}

// The same sum, rolled and eight at a time.
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

extern "C" __global__ void poly_rolled(float *out, float x, int n)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = poly<1>(x, n);
}

extern "C" __global__ void poly_unrolled(float *out, float x, int n)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = poly<8>(x, n);
}

// Matrix instructions, four accumulators in turn.
typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f16 __attribute__((ext_vector_type(16)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef int i4 __attribute__((ext_vector_type(4)));
typedef int i16 __attribute__((ext_vector_type(16)));
typedef double d4 __attribute__((ext_vector_type(4)));

#define RATE(name, acc, type, value, op)                                                           \
    extern "C" __global__ __launch_bounds__(256) void rate_##name(float *out, int n)               \
    {                                                                                              \
        const type a = value;                                                                      \
        acc s[4] = {};                                                                             \
        _Pragma("nounroll") for (int i = 0; i < n; i += 64)                                        \
        {                                                                                          \
            _Pragma("unroll") for (int k = 0; k < 64; k++)                                         \
                s[k % 4] = __builtin_amdgcn_mfma_##op(a, a, s[k % 4], 0, 0, 0);                    \
        }                                                                                          \
        out[blockIdx.x * blockDim.x + threadIdx.x] =                                               \
            (float)(s[0][0] + s[1][0] + s[2][0] + s[3][0]);                                        \
    }

RATE(f32_32x32x2, f16, float, (float)threadIdx.x, f32_32x32x2f32)
RATE(f32_16x16x4, f4, float, (float)threadIdx.x, f32_16x16x4f32)
RATE(f16_32x32x8, f16, h4, (_Float16)1, f32_32x32x8f16)
RATE(f16_16x16x16, f4, h4, (_Float16)1, f32_16x16x16f16)
RATE(i8_32x32x16, i16, long, 0x0101010101010101, i32_32x32x16_i8)
RATE(i8_16x16x32, i4, long, 0x0101010101010101, i32_16x16x32_i8)
RATE(fp8_32x32x16, f16, long, 0x0101010101010101, f32_32x32x16_fp8_fp8)
RATE(fp8_16x16x32, f4, long, 0x0101010101010101, f32_16x16x32_fp8_fp8)
RATE(f64_16x16x4, d4, double, 1.0, f64_16x16x4f64)
