// What is gfx90a's own: matrix shapes that CDNA3 dropped, private memory by way of a buffer resource.
#include <hip/hip_runtime.h>

typedef short short2v __attribute__((ext_vector_type(2)));
typedef short short4v __attribute__((ext_vector_type(4)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float16v __attribute__((ext_vector_type(16)));
typedef float float32v __attribute__((ext_vector_type(32)));
typedef int int4v __attribute__((ext_vector_type(4)));
typedef int int16v __attribute__((ext_vector_type(16)));
typedef double double4v __attribute__((ext_vector_type(4)));

// One wave, C = A B with M x M results; A row by row, B column by column. K values of k per step, P
// of them in a lane; register r of a lane has row ROW(r).
#define PRODUCT(name, T, V, D, ACC, M, K, P, REGISTERS, ROW, builtin)                              \
    extern "C" __global__ void name(const T *a, const T *b, D *c, int n)                           \
    {                                                                                              \
        int lane = threadIdx.x, part = lane / M;                                                   \
        ACC acc = {};                                                                              \
        for (int k = 0; k < n; k += K)                                                             \
            acc = builtin(*(const V *)(a + lane % M * n + k + part * P),                           \
                          *(const V *)(b + lane % M * n + k + part * P), acc, 0, 0, 0);            \
        for (int r = 0; r < REGISTERS; r++)                                                        \
            c[(ROW) * M + lane % M] = acc[r];                                                      \
    }
#define ROW16 (part * 4 + r)
#define ROW32 (r / 4 * 8 + part * 4 + r % 4)
PRODUCT(bf16_16, short, short2v, float, float4v, 16, 8, 2, 4, ROW16,
        __builtin_amdgcn_mfma_f32_16x16x8bf16)
PRODUCT(bf16_32, short, short2v, float, float16v, 32, 4, 2, 16, ROW32,
        __builtin_amdgcn_mfma_f32_32x32x4bf16)
PRODUCT(bf16_1k_16, short, short4v, float, float4v, 16, 16, 4, 4, ROW16,
        __builtin_amdgcn_mfma_f32_16x16x16bf16_1k)
PRODUCT(bf16_1k_32, short, short4v, float, float16v, 32, 8, 4, 16, ROW32,
        __builtin_amdgcn_mfma_f32_32x32x8bf16_1k)
PRODUCT(i8_16, signed char, int, int, int4v, 16, 16, 4, 4, ROW16,
        __builtin_amdgcn_mfma_i32_16x16x16i8)
PRODUCT(i8_32, signed char, int, int, int16v, 32, 8, 4, 16, ROW32,
        __builtin_amdgcn_mfma_i32_32x32x8i8)
PRODUCT(f64_16, double, double, double, double4v, 16, 4, 1, 4, (4 * r + part),
        __builtin_amdgcn_mfma_f64_16x16x4f64)

// Two blocks of 32 x 32 at once: lanes 0 to 31 hold the first one's A and B, the others the second's.
extern "C" __global__ void bf16_two_blocks(const short *a, const short *b, float *c, int n)
{
    int lane = threadIdx.x, part = lane / 32;
    float32v acc = {};
    for (int k = 0; k < n; k += 2)
        acc = __builtin_amdgcn_mfma_f32_32x32x2bf16(
            *(const short2v *)(a + (part * 32 + lane % 32) * n + k),
            *(const short2v *)(b + (part * 32 + lane % 32) * n + k), acc, 0, 0, 0);
    for (int r = 0; r < 32; r++)
        c[(r / 16 * 32 + r % 16 / 4 * 8 + part * 4 + r % 4) * 32 + lane % 32] = acc[r];
}

struct mixed {
    unsigned char byte;
    short half;
    int word;
    double wide;
};

__device__ __attribute__((noinline)) unsigned fold(const unsigned char *p, int bytes)
{
    unsigned h = 2166136261u;
    for (int i = 0; i < bytes; i++)
        h = (h ^ p[i]) * 16777619u;
    return h;
}

// Arrays whose place the compiler cannot foresee: bytes, halves, words and doubles, also through a
// generic pointer, in a part of the lanes.
extern "C" __global__ void private_arrays(unsigned *out, int n)
{
    struct mixed m[9];
    unsigned char bytes[37];
    int t = threadIdx.x;
    for (int i = 0; i < n; i++) {
        int at = (i * 5 + t) % 9;
        m[at].byte = (unsigned char)(t + i);
        m[at].half = (short)(t * i - 7);
        m[at].word = t * 1000 + i;
        m[at].wide = t + i * 0.5;
    }
    for (int i = 0; i < 37; i++)
        bytes[(i * 11 + t) % 37] = (unsigned char)(i * t);
    unsigned sum = t % 3 ? fold(bytes, 37) : fold(bytes + t % 5, 30);
    for (int i = 0; i < n; i++) {
        const struct mixed *e = &m[(i + 2 * t) % 9];
        sum = sum * 31 + e->byte + (unsigned)e->half * 3 + (unsigned)e->word * 5 + (unsigned)(e->wide * 2);
    }
    out[blockIdx.x * blockDim.x + t] = sum;
}

__device__ __attribute__((noinline)) int ackermann(int m, int n)
{
    if (m == 0)
        return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void recursive(int *out)
{
    int t = threadIdx.x;
    out[t] = ackermann(t % 3, t % 5);
}
