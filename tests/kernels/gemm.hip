// Matrix products without matrix instructions: scalar, tiled, dot products, packed forms.
#include <hip/hip_runtime.h>

__global__ void sgemm_naive(const float *A, const float *B, float *C, int M, int N, int K)
{
    int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
    float s = 0;
    if (r < M && c < N) {
        for (int k = 0; k < K; k++)
            s += A[r * K + k] * B[k * N + c];
        C[r * N + c] = s;
    }
}
__global__ void sgemm_tiled(const float *A, const float *B, float *C, int N)
{
    __shared__ float a[16][16], b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx;
    float s = 0;
    for (int t = 0; t < N / 16; t++) {
        a[ty][tx] = A[r * N + t * 16 + tx];
        b[ty][tx] = B[(t * 16 + ty) * N + c];
        __syncthreads();
        for (int k = 0; k < 16; k++)
            s += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    C[r * N + c] = s;
}
__global__ __launch_bounds__(256) void sgemm_reg(const float *__restrict A,
                                                 const float *__restrict B, float *__restrict C,
                                                 int N)
{
    __shared__ float As[8][128], Bs[8][128];
    float acc[8][8] = {};
    int t = threadIdx.x, ar = t >> 1, ac = (t & 1) * 4, br = t >> 5, bc = (t & 31) * 4;
    const float *a = A + (blockIdx.y * 128 + ar) * N + ac, *b = B + br * N + blockIdx.x * 128 + bc;
    int ty = (t >> 4) * 8, tx = (t & 15) * 8;
    for (int k = 0; k < N; k += 8) {
        float4 x = *(const float4 *)(a + k), y = *(const float4 *)(b + k * N);
        As[ac][ar] = x.x;
        As[ac + 1][ar] = x.y;
        As[ac + 2][ar] = x.z;
        As[ac + 3][ar] = x.w;
        *(float4 *)&Bs[br][bc] = y;
        __syncthreads();
#pragma unroll
        for (int q = 0; q < 8; q++) {
            float u[8], v[8];
            for (int i = 0; i < 8; i++) {
                u[i] = As[q][ty + i];
                v[i] = Bs[q][tx + i];
            }
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++)
                    acc[i][j] += u[i] * v[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            C[(blockIdx.y * 128 + ty + i) * N + blockIdx.x * 128 + tx + j] = acc[i][j];
}
__global__ void dgemm_tiled(const double *A, const double *B, double *C, int N, double al,
                            double be)
{
    __shared__ double a[16][17], b[16][17];
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx;
    double s = 0;
    for (int t = 0; t < N; t += 16) {
        a[ty][tx] = A[r * N + t + tx];
        b[ty][tx] = B[(t + ty) * N + c];
        __syncthreads();
        for (int k = 0; k < 16; k++)
            s += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    C[r * N + c] = al * s + be * C[r * N + c];
}
__global__ void igemm_dot4(const int *A, const int *B, int *C, int N)
{
    int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
    int s = 0;
    for (int k = 0; k < N; k++)
        s = __builtin_amdgcn_sdot4(A[r * N + k], B[c * N + k], s, false);
    C[r * N * 4 + c] = s;
}
typedef _Float16 h2 __attribute__((ext_vector_type(2)));
__global__ void hgemm_dot2(const h2 *A, const h2 *B, float *C, int N)
{
    int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
    float s = 0;
    for (int k = 0; k < N; k++)
        s = __builtin_amdgcn_fdot2(A[r * N + k], B[c * N + k], s, false);
    C[r * N * 2 + c] = s;
}
__global__ void hfma_pk(const h2 *a, const h2 *b, h2 *c, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    h2 x = a[i], y = b[i], z = c[i];
    for (int k = 0; k < n; k++)
        z = x * z + y;
    c[i] = z;
}
typedef float f2 __attribute__((ext_vector_type(2)));
__global__ void pkf32(const f2 *a, const f2 *b, f2 *c, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    f2 x = a[i], y = b[i], z = c[i];
    for (int k = 0; k < n; k++) {
        z = __builtin_elementwise_fma(x, z, y);
        z = z * x + y.yx;
    }
    c[i] = z;
}
