// Matrix products as users write them with the compiler's builtins. A is row by row, B column by
// column, so that a lane's operands are neighbours in memory.
#include <hip/hip_runtime.h>

typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef short short4v __attribute__((ext_vector_type(4)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float16v __attribute__((ext_vector_type(16)));
typedef int int4v __attribute__((ext_vector_type(4)));
typedef double double4v __attribute__((ext_vector_type(4)));

// One wave per 64 x 64 tile of C, 2 x 2 accumulators of 32 x 32; four waves per block.
extern "C" __global__ __launch_bounds__(256) void gemm_f16(const _Float16 *a, const _Float16 *b,
                                                           float *c, int n)
{
    int lane = threadIdx.x % 64, wave = blockIdx.x * 4 + threadIdx.x / 64;
    int row0 = wave / (n / 64) * 64, col0 = wave % (n / 64) * 64;
    const half4 *pa = (const half4 *)(a + (row0 + lane % 32) * n + lane / 32 * 4);
    const half4 *pb = (const half4 *)(b + (col0 + lane % 32) * n + lane / 32 * 4);
    float16v acc[2][2] = {};
    for (int k = 0; k < n; k += 8) {
        half4 va[2] = {pa[k / 4], pa[k / 4 + 8 * n]}, vb[2] = {pb[k / 4], pb[k / 4 + 8 * n]};
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++)
                acc[i][j] = __builtin_amdgcn_mfma_f32_32x32x8f16(va[i], vb[j], acc[i][j], 0, 0, 0);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int r = 0; r < 16; r++)
                c[(row0 + 32 * i + r / 4 * 8 + lane / 32 * 4 + r % 4) * n + col0 + 32 * j +
                  lane % 32] = acc[i][j][r];
}

// The instruction alone, as often as told: what the matrix kernels give per second.
extern "C" __global__ void mfma_chain(float *c, float x, int n)
{
    half4 a = {(_Float16)x, 1, 0, (_Float16)threadIdx.x}, b = {1, (_Float16)x, 2, 0};
    float4v acc[4] = {};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 4; j++)
            acc[j] = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, acc[j], 0, 0, 0);
    c[blockIdx.x * blockDim.x + threadIdx.x] = acc[0][0] + acc[1][1] + acc[2][2] + acc[3][3];
}

// One wave per 16 x 16 tile, any type: K values per step, P of them per lane.
#define TILES(name, T, V, D, ACC, K, P, builtin)                                                   \
    extern "C" __global__ void name(const T *a, const T *b, D *c, int n)                           \
    {                                                                                              \
        int lane = threadIdx.x, row0 = blockIdx.x / (n / 16) * 16,                                 \
            col0 = blockIdx.x % (n / 16) * 16;                                                     \
        const T *pa = a + (row0 + lane % 16) * n + lane / 16 * P;                                  \
        const T *pb = b + (col0 + lane % 16) * n + lane / 16 * P;                                  \
        ACC acc = {};                                                                              \
        for (int k = 0; k < n; k += K)                                                             \
            acc = builtin(*(const V *)(pa + k), *(const V *)(pb + k), acc, 0, 0, 0);               \
        for (int r = 0; r < 4; r++)                                                                \
            c[(row0 + (sizeof(D) == 8 ? 4 * r + lane / 16 : lane / 16 * 4 + r)) * n + col0 +       \
              lane % 16] = acc[r];                                                                 \
    }
TILES(tiles_bf16, short, short4v, float, float4v, 16, 4, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k)
TILES(tiles_f32, float, float, float, float4v, 4, 1, __builtin_amdgcn_mfma_f32_16x16x4f32)
TILES(tiles_i8, signed char, long, int, int4v, 32, 8, __builtin_amdgcn_mfma_i32_16x16x32_i8)
TILES(tiles_fp8, unsigned char, long, float, float4v, 32, 8,
      __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8)
TILES(tiles_f64, double, double, double, double4v, 4, 1, __builtin_amdgcn_mfma_f64_16x16x4f64)

// One wave: a 16 x 16 tile with 32 values of k, of which A keeps two in four. The index set of a
// lane comes from memory.
extern "C" __global__ void sparse_f16(const _Float16 *a, const _Float16 *b, const int *index,
                                      float *c)
{
    int lane = threadIdx.x;
    float4v acc = {};
    acc = __builtin_amdgcn_smfmac_f32_16x16x32_f16(
        *(const half4 *)(a + lane % 16 * 16 + lane / 16 * 4),
        *(const half8 *)(b + lane % 16 * 32 + lane / 16 * 8), acc, index[lane], 0, 0);
    for (int r = 0; r < 4; r++)
        c[(lane / 16 * 4 + r) * 16 + lane % 16] = acc[r];
}
