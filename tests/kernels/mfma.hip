// Matrix instructions.
#include <hip/hip_runtime.h>

typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef short s4 __attribute__((ext_vector_type(4)));
typedef short s2 __attribute__((ext_vector_type(2)));
typedef __bf16 b4 __attribute__((ext_vector_type(4)));
typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f16v __attribute__((ext_vector_type(16)));
typedef float f32v __attribute__((ext_vector_type(32)));
typedef int i4 __attribute__((ext_vector_type(4)));
typedef int i16v __attribute__((ext_vector_type(16)));
typedef double d4 __attribute__((ext_vector_type(4)));
typedef float f2 __attribute__((ext_vector_type(2)));
typedef _Float16 h8 __attribute__((ext_vector_type(8)));
typedef int i2 __attribute__((ext_vector_type(2)));
__global__ void mfma_f16_gemm(const _Float16 *A, const _Float16 *B, float *C, int N)
{
    __shared__ _Float16 as[64][36], bs[64][36];
    int l = threadIdx.x & 63, w = threadIdx.x >> 6;
    f4 acc[4] = {};
    for (int k = 0; k < N; k += 32) {
        for (int i = threadIdx.x; i < 64 * 8; i += 256) {
            int r = i >> 3, c = (i & 7) * 4;
            *(h4 *)&as[r][c] = *(const h4 *)&A[(blockIdx.y * 64 + r) * N + k + c];
            *(h4 *)&bs[r][c] = *(const h4 *)&B[(blockIdx.x * 64 + r) * N + k + c];
        }
        __syncthreads();
        for (int kk = 0; kk < 32; kk += 16) {
            h4 a = *(h4 *)&as[w * 16 + (l & 15)][kk + (l >> 4) * 4];
            for (int j = 0; j < 4; j++) {
                h4 b = *(h4 *)&bs[j * 16 + (l & 15)][kk + (l >> 4) * 4];
                acc[j] = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, acc[j], 0, 0, 0);
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++)
            C[(blockIdx.y * 64 + w * 16 + (l >> 4) * 4 + i) * N + blockIdx.x * 64 + j * 16 +
              (l & 15)] = acc[j][i];
}
__global__ void mfma_bf16_32(const s4 *A, const s4 *B, float *C, int N)
{
    int l = threadIdx.x;
    f16v acc = {};
    for (int k = 0; k < N; k++)
        acc = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(A[k * 64 + l], B[k * 64 + l], acc, 0, 0, 0);
    for (int i = 0; i < 16; i++)
        C[i * 64 + l] = acc[i];
}
__global__ void mfma_i8(const long *A, const long *B, int *C, int N)
{
    int l = threadIdx.x;
    i16v acc = {};
    i4 ac2 = {};
    for (int k = 0; k < N; k++) {
#ifndef __gfx90a__
        acc = __builtin_amdgcn_mfma_i32_32x32x16_i8(A[k * 64 + l], B[k * 64 + l], acc, 0, 0, 0);
        ac2 = __builtin_amdgcn_mfma_i32_16x16x32_i8(A[k * 64 + l], B[k * 64 + l], ac2, 0, 0, 0);
#endif
    }
    for (int i = 0; i < 16; i++)
        C[i * 64 + l] = acc[i];
    for (int i = 0; i < 4; i++)
        C[1024 + i * 64 + l] = ac2[i];
}
__global__ void mfma_f64(const double *A, const double *B, double *C, int N)
{
    int l = threadIdx.x;
    d4 acc = {};
    double s = 0;
    for (int k = 0; k < N; k++) {
        acc = __builtin_amdgcn_mfma_f64_16x16x4f64(A[k * 64 + l], B[k * 64 + l], acc, 0, 0, 0);
        s = __builtin_amdgcn_mfma_f64_4x4x4f64(A[k * 64 + l], B[k * 64 + l], s, 0, 0, 0);
    }
    for (int i = 0; i < 4; i++)
        C[i * 64 + l] = acc[i];
    C[256 + l] = s;
}
__global__ void mfma_f32_all(const float *A, const float *B, float *C, int N)
{
    int l = threadIdx.x;
    f4 a0 = {}, a1 = {}, x0 = {};
    f16v b0 = {}, b1 = {}, x1 = {};
    f32v c0 = {};
    for (int k = 0; k < N; k++) {
        float a = A[k * 64 + l], b = B[k * 64 + l];
        a0 = __builtin_amdgcn_mfma_f32_4x4x1f32(a, b, a0, 0, 0, 0);
        a1 = __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, a1, 0, 0, 0);
        b0 = __builtin_amdgcn_mfma_f32_16x16x1f32(a, b, b0, 2, 1, 3);
        b1 = __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, b1, 0, 0, 0);
        c0 = __builtin_amdgcn_mfma_f32_32x32x1f32(a, b, c0, 1, 0, 1);
#ifndef __gfx90a__
        f2 p = {a, b};
        x0 = __builtin_amdgcn_mfma_f32_16x16x8_xf32(p, p, x0, 0, 0, 0);
        x1 = __builtin_amdgcn_mfma_f32_32x32x4_xf32(p, p, x1, 0, 0, 0);
#endif
    }
    for (int i = 0; i < 4; i++)
        C[i * 64 + l] = a0[i] + a1[i] + x0[i];
    for (int i = 0; i < 16; i++)
        C[256 + i * 64 + l] = b0[i] * b1[i] + x1[i];
    for (int i = 0; i < 32; i++)
        C[2048 + i * 64 + l] = c0[i];
}
__global__ void mfma_fp8(const long *A, const long *B, float *C, int N)
{
    int l = threadIdx.x;
    f4 a = {}, b = {}, c = {}, d = {};
    f16v e = {}, f = {}, g = {}, h = {};
    for (int k = 0; k < N; k++) {
        long x = A[k * 64 + l], y = B[k * 64 + l];
#ifndef __gfx90a__
        a = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(x, y, a, 0, 0, 0);
        b = __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8(x, y, b, 0, 0, 0);
        c = __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(x, y, c, 0, 0, 0);
        d = __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8(x, y, d, 0, 0, 0);
        e = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(x, y, e, 0, 0, 0);
        f = __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8(x, y, f, 0, 0, 0);
#endif
    }
    for (int i = 0; i < 4; i++)
        C[i * 64 + l] = a[i] + b[i] + c[i] + d[i];
    for (int i = 0; i < 16; i++)
        C[256 + i * 64 + l] = e[i] + f[i];
}
__global__ void mfma_f16_small(const h4 *A, const h4 *B, float *C, int N)
{
    int l = threadIdx.x;
    f4 a = {};
    f16v b = {}, d = {};
    f32v c = {};
    for (int k = 0; k < N; k++) {
        h4 x = A[k * 64 + l], y = B[k * 64 + l];
        a = __builtin_amdgcn_mfma_f32_4x4x4f16(x, y, a, 0, 0, 0);
        b = __builtin_amdgcn_mfma_f32_16x16x4f16(x, y, b, 0, 0, 0);
        c = __builtin_amdgcn_mfma_f32_32x32x4f16(x, y, c, 0, 0, 0);
        d = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, d, 0, 0, 0);
    }
    for (int i = 0; i < 4; i++)
        C[i * 64 + l] = a[i];
    for (int i = 0; i < 16; i++)
        C[256 + i * 64 + l] = b[i] + d[i];
    for (int i = 0; i < 32; i++)
        C[2048 + i * 64 + l] = c[i];
}
__global__ void smfmac(const h4 *A, const h8 *B, const int *I, float *C, int N)
{
    int l = threadIdx.x;
    f4 a = {};
    f16v b = {};
    for (int k = 0; k < N; k++) {
#ifndef __gfx90a__
        a = __builtin_amdgcn_smfmac_f32_16x16x32_f16(A[k * 64 + l], B[k * 64 + l], a, I[k], 0, 0);
        b = __builtin_amdgcn_smfmac_f32_32x32x16_f16(A[k * 64 + l], B[k * 64 + l], b, I[k], 1, 0);
#endif
    }
    for (int i = 0; i < 4; i++)
        C[i * 64 + l] = a[i];
    for (int i = 0; i < 16; i++)
        C[256 + i * 64 + l] = b[i];
}
