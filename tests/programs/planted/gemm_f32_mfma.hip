// gemm_f32_mfma: a GEMM of half-precision matrices widens them and multiplies with f32 matrix
// instructions. The fix multiplies the halves themselves, with sums in f32 as before.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t status_ = (call);                                                               \
        if (status_ != hipSuccess) {                                                               \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(status_));                   \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float16 __attribute__((ext_vector_type(16)));

// Adds the product of a tile of 32 x 8 and one of 8 x 32.
__device__ inline void multiply(half4 a, half4 b, float16 &s)
{
#ifdef FIXED
    s = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, s, 0, 0, 0);
#else
    for (int t = 0; t < 4; t++) {
        float x = a[t], y = b[t];
        s = __builtin_amdgcn_mfma_f32_32x32x2f32(x, y, s, 0, 0, 0); // planted: mfma_throughput
    }
#endif
}

// C = A * B^T, both packed as [k / 4][row][4]; each wave makes a tile of 64 x 64 from four of 32
// x 32.
__global__ __launch_bounds__(256) void gemm(const half4 *__restrict__ a,
                                            const half4 *__restrict__ b, float *__restrict__ c,
                                            int m, int n, int k)
{
    int lane = threadIdx.x % 64, wave = threadIdx.x / 64;
    int row0 = blockIdx.y * 128 + wave / 2 * 64, col0 = blockIdx.x * 128 + wave % 2 * 64;
    const half4 *pa = a + lane / 32 * m + row0 + lane % 32;
    const half4 *pb = b + lane / 32 * n + col0 + lane % 32;
    half4 next[4] = {pa[0], pa[32], pb[0], pb[32]};
    float16 sum[2][2] = {};
    for (int k4 = 2; k4 <= k / 4; k4 += 2) {
        half4 now[4] = {next[0], next[1], next[2], next[3]};
        if (k4 < k / 4) {
            pa += 2 * m;
            pb += 2 * n;
            next[0] = pa[0], next[1] = pa[32], next[2] = pb[0], next[3] = pb[32];
        }
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++)
                multiply(now[i], now[2 + j], sum[i][j]);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int r = 0; r < 16; r++)
                c[(size_t)(row0 + i * 32 + r / 4 * 8 + lane / 32 * 4 + r % 4) * n + col0 + j * 32 +
                  lane % 32] = sum[i][j][r];
}

int main()
{
    const int m = 2048, n = 2432, k = 512;
    std::vector<_Float16> a((size_t)m * k), b((size_t)n * k);
    std::vector<float> c((size_t)m * n);
    for (size_t i = 0; i < a.size(); i++)
        a[i] = (_Float16)(int)(i * 7 % 17 % 9 - 4);
    for (size_t i = 0; i < b.size(); i++)
        b[i] = (_Float16)(int)(i * 5 % 13 % 7 - 3);
    half4 *da, *db;
    float *dc;
    CHECK(hipMalloc(&da, a.size() * 2));
    CHECK(hipMalloc(&db, b.size() * 2));
    CHECK(hipMalloc(&dc, c.size() * 4));
    CHECK(hipMemcpy(da, a.data(), a.size() * 2, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(db, b.data(), b.size() * 2, hipMemcpyHostToDevice));
    gemm<<<dim3(n / 128, m / 128), 256>>>(da, db, dc, m, n, k);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(c.data(), dc, c.size() * 4, hipMemcpyDeviceToHost));
    for (size_t i = 0; i < c.size(); i += 997) {
        float want = 0;
        for (int t = 0; t < k; t++)
            want += (float)a[(t / 4 * m + i / n) * 4 + t % 4] *
                    (float)b[(t / 4 * n + i % n) * 4 + t % 4];
        if (c[i] != want) {
            std::fprintf(stderr, "c[%zu]: %g, not %g\n", i, c[i], want);
            return 1;
        }
    }
    CHECK(hipFree(da));
    CHECK(hipFree(db));
    CHECK(hipFree(dc));
    std::puts("ok");
    return 0;
}
