// Instructions of every class that hardware counters tell apart, each so many times a round:
// test_counters.c has the numbers. In assembly, so that they are what stands here.
#include <hip/hip_runtime.h>

typedef float float4v __attribute__((ext_vector_type(4)));
typedef _Float16 half4v __attribute__((ext_vector_type(4)));

// Lanes of every second group of 16 are off in the rounds.
extern "C" __global__ void classes(float *out, int n, int half)
{
    __shared__ int shared[256];
    float a = threadIdx.x, b = 1.5f;
    double d = a, e = 2;
    unsigned u = threadIdx.x;
    unsigned long long w = u;
    float *at = out + blockIdx.x * blockDim.x + threadIdx.x;
    unsigned place = 4 * threadIdx.x;
    shared[threadIdx.x] = u;
    __syncthreads();
    if (!half || !(threadIdx.x & 16))
        for (int i = 0; i < n; i++)
            asm volatile("v_add_f16 %0, %0, %1\n"
                         "v_mul_f16 %0, %0, %1\n"
                         "v_pk_mul_f16 %0, %0, %1\n"
                         "v_fma_f16 %0, %0, %1, %1\n"
                         "v_rcp_f16 %0, %0\n"
                         "v_add_f32 %0, %0, %1\n"
                         "v_sub_f32 %0, %0, %1\n"
                         "v_pk_add_f32 %2, %2, %3\n"
                         "v_mul_f32 %0, %0, %1\n"
                         "v_fma_f32 %0, %0, %1, %1\n"
                         "v_fmac_f32 %0, %0, %1\n"
                         "v_exp_f32 %0, %0\n"
                         "v_sqrt_f32 %0, %0\n"
                         "v_add_f64 %2, %2, %3\n"
                         "v_mul_f64 %2, %2, %3\n"
                         "v_fma_f64 %2, %2, %3, %3\n"
                         "v_fma_f64 %2, %2, %3, %3\n"
                         "v_rcp_f64 %2, %2\n"
                         "v_cvt_f32_u32 %0, %4\n"
                         "v_cvt_f64_f32 %2, %0\n"
                         "v_mul_lo_u32 %4, %4, %4\n"
                         "v_bfe_i32 %4, %4, 0, 16\n"
                         "v_mad_u64_u32 %5, vcc, %4, %4, %5\n"
                         "v_lshl_add_u64 %5, %5, 1, %5\n"
                         "v_lshlrev_b64 %5, 3, %5\n"
                         "v_mov_b32 %0, %1\n"
                         "ds_read_b32 %4, %7\n"
                         "ds_write_b32 %7, %4\n"
                         "ds_add_u32 %7, %4\n"
                         "s_waitcnt lgkmcnt(0)\n"
                         "global_load_dword %0, %6, off\n"
                         "s_waitcnt vmcnt(0)\n"
                         "global_store_dword %6, %0, off\n"
                         "flat_store_dword %6, %0\n"
                         "global_atomic_add %4, %6, %4, off sc0\n"
                         "s_waitcnt vmcnt(0)\n"
                         "s_nop 1\n"
                         : "+v"(a), "+v"(b), "+v"(d), "+v"(e), "+v"(u), "+v"(w)
                         : "v"(at), "v"(place)
                         : "vcc", "memory");
    *at = a + b + (float)d + u + (float)w;
}

// Matrix instructions execute for all lanes.
extern "C" __global__ void matrices(float *out, int n)
{
    float4v acc = {};
    half4v h = {};
    double d[4] = {};
    typedef double double4v __attribute__((ext_vector_type(4)));
    double4v big = {};
    for (int i = 0; i < n; i++) {
        acc = __builtin_amdgcn_mfma_f32_16x16x16f16(h, h, acc, 0, 0, 0);
        acc = __builtin_amdgcn_mfma_f32_16x16x16f16(h, h, acc, 0, 0, 0);
        acc = __builtin_amdgcn_mfma_f32_16x16x4f32(1.0f, 2.0f, acc, 0, 0, 0);
        big = __builtin_amdgcn_mfma_f64_16x16x4f64(1.0, 2.0, big, 0, 0, 0);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = acc[0] + (float)big[0] + (float)d[0];
}

// The copy whose counters were read on a real MI300X (rocprof-compute's sample).
extern "C" __global__ void copy(const double *a, double *b, double *c, int n, int stride)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i];
}

// Lanes read dwords that are so far apart.
extern "C" __global__ void banks(float *out, int n, int stride)
{
    __shared__ float shared[64 * 32];
    unsigned place = 4 * threadIdx.x * stride;
    float v;
    for (int i = 0; i < 64 * 32; i += 64)
        shared[threadIdx.x + i] = i;
    __syncthreads();
    for (int i = 0; i < n; i++)
        asm volatile("ds_read_b32 %0, %1\n"
                     "s_waitcnt lgkmcnt(0)\n"
                     : "=v"(v)
                     : "v"(place)
                     : "memory");
    out[threadIdx.x] = v + shared[threadIdx.x];
}

// Loads and stores of data that is used once, n times over by each wave.
extern "C" __global__ void streams(const float *in, float *out, int n, int unused)
{
    for (int i = 0; i < n; i++) {
        int at = (blockIdx.x * n + i) * 64 + threadIdx.x;
        __builtin_nontemporal_store(__builtin_nontemporal_load(in + at), out + at);
    }
}

// Atomics in the LDS, of which only the first kind returns what was there.
extern "C" __global__ void bins(float *out, int n, int returns)
{
    __shared__ unsigned bin[64];
    unsigned sum = 0;
    bin[threadIdx.x] = 0;
    __syncthreads();
    if (returns)
        for (int i = 0; i < n; i++)
            sum += atomicExch(&bin[threadIdx.x], i);
    else
        for (int i = 0; i < n; i++)
            atomicAdd(&bin[threadIdx.x], i);
    out[threadIdx.x] = sum + bin[threadIdx.x];
}

// Waves that hold as many registers as they want, for long.
extern "C" __global__ __launch_bounds__(64) void wide(float *out, int n, int unused)
{
    for (int i = 0; i < n; i++)
        asm volatile("v_mov_b32 v160, 0\n"
                     "s_nop 7\n" ::
                         : "v160");
    out[threadIdx.x] = n;
}

// Every workgroup reads the same n dwords, again and again.
extern "C" __global__ void again(const float *in, float *out, int n, int rounds)
{
    float sum = 0;
    for (int r = 0; r < rounds; r++)
        for (int i = threadIdx.x; i < n; i += 64)
            sum += in[i] * 0.5f;
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}
