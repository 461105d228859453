// C = A B, each workgroup one tile of C, each thread a part of 4x4 of it. How large tiles are and
// how they are loaded is chosen when it is compiled, for rocm-perf autotune to choose:
//     hipcc -O3 -DBLOCK_M=64 -DBLOCK_N=64 -DBLOCK_K=16 -DUNROLL=4 -DVECTOR=4 tiled_sgemm.hip
// Not all of these fit together: some do not compile, and an UNROLL that does not divide BLOCK_K
// leaves products out, which the program notices.
#include "check.h"

#include <cmath>
#include <vector>

#ifndef BLOCK_M
#define BLOCK_M 32
#define BLOCK_N 32
#define BLOCK_K 16
#define UNROLL  4
#define VECTOR  1
#endif

constexpr int PART = 4; // rows and columns of a thread
constexpr int THREADS = BLOCK_M / PART * (BLOCK_N / PART);
constexpr int GROUPS = VECTOR * THREADS; // floats that all threads load at a time

static_assert(THREADS <= 1024, "more threads than a workgroup may have");
static_assert(BLOCK_K % VECTOR == 0 && BLOCK_N % VECTOR == 0, "a row is not a number of vectors");
static_assert(BLOCK_M * BLOCK_K % GROUPS == 0 && BLOCK_K * BLOCK_N % GROUPS == 0,
              "a tile is not a number of loads of all threads");

struct alignas(VECTOR * sizeof(float)) Vector {
    float at[VECTOR];
};

__global__ __launch_bounds__(THREADS) void tiled_sgemm(const float *a, const float *b, float *c,
                                                       int n)
{
    __shared__ float tile_a[BLOCK_K][BLOCK_M], tile_b[BLOCK_K][BLOCK_N];
    const int thread = threadIdx.x, row = thread / (BLOCK_N / PART) * PART,
              col = thread % (BLOCK_N / PART) * PART;
    float sum[PART][PART] = {};

    a += blockIdx.y * BLOCK_M * n;
    b += blockIdx.x * BLOCK_N;
    for (int k0 = 0; k0 < n; k0 += BLOCK_K) {
        for (int i = thread * VECTOR; i < BLOCK_M * BLOCK_K; i += GROUPS) {
            const Vector v = *(const Vector *)&a[i / BLOCK_K * n + k0 + i % BLOCK_K];
            for (int j = 0; j < VECTOR; j++)
                tile_a[i % BLOCK_K + j][i / BLOCK_K] = v.at[j];
        }
        for (int i = thread * VECTOR; i < BLOCK_K * BLOCK_N; i += GROUPS)
            *(Vector *)&tile_b[i / BLOCK_N][i % BLOCK_N] =
                *(const Vector *)&b[(k0 + i / BLOCK_N) * n + i % BLOCK_N];
        __syncthreads();
#pragma unroll 1
        for (int k = 0; k + UNROLL <= BLOCK_K; k += UNROLL)
#pragma unroll
            for (int u = 0; u < UNROLL; u++)
                for (int i = 0; i < PART; i++)
                    for (int j = 0; j < PART; j++)
                        sum[i][j] = fmaf(tile_a[k + u][row + i], tile_b[k + u][col + j], sum[i][j]);
        __syncthreads();
    }
    for (int i = 0; i < PART; i++)
        for (int j = 0; j < PART; j++)
            c[(blockIdx.y * BLOCK_M + row + i) * n + blockIdx.x * BLOCK_N + col + j] = sum[i][j];
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 128;
    if (n <= 0 || n % BLOCK_M || n % BLOCK_N || n % BLOCK_K) {
        std::fprintf(stderr, "usage: tiled_sgemm [N], N a multiple of all blocks\n");
        return 2;
    }
    std::vector<float> a(n * n), b(n * n), c(n * n);
    Random random;
    for (int i = 0; i < n * n; i++) {
        a[i] = random.unit() - 0.5f;
        b[i] = random.unit() - 0.5f;
    }
    const size_t bytes = a.size() * sizeof(float);
    float *da, *db, *dc;
    HIP_CHECK(hipMalloc(&da, bytes));
    HIP_CHECK(hipMalloc(&db, bytes));
    HIP_CHECK(hipMalloc(&dc, bytes));
    HIP_CHECK(hipMemcpy(da, a.data(), bytes, hipMemcpyHostToDevice));
    HIP_CHECK(hipMemcpy(db, b.data(), bytes, hipMemcpyHostToDevice));
    tiled_sgemm<<<dim3(n / BLOCK_N, n / BLOCK_M), THREADS>>>(da, db, dc, n);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipMemcpy(c.data(), dc, bytes, hipMemcpyDeviceToHost));
    double worst = 0;
    bool ok = true;
    for (int row = 0; row < n; row++)
        for (int col = 0; col < n; col++) {
            float sum = 0;
            for (int k = 0; k < n; k++)
                sum = fmaf(a[row * n + k], b[k * n + col], sum);
            ok = ok && sum == c[row * n + col]; // a NaN would slip past a maximum
            worst = std::fmax(worst, std::fabs(sum - c[row * n + col]));
        }
    HIP_CHECK(hipFree(da));
    HIP_CHECK(hipFree(db));
    HIP_CHECK(hipFree(dc));
    return report("tiled_sgemm", ok, worst);
}
