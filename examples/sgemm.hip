// C = A B with 16x16 tiles in LDS. The sum runs in the same order on the CPU, with fused
// multiply-adds on both sides, so the results are equal bit for bit.
#include "check.h"

#include <cmath>
#include <vector>

constexpr int TILE = 16;

__global__ void sgemm(const float *a, const float *b, float *c, int n)
{
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int k0 = 0; k0 < n; k0 += TILE) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * n + k0 + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = b[(k0 + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum = fmaf(tile_a[threadIdx.y][k], tile_b[k][threadIdx.x], sum);
        __syncthreads();
    }
    c[row * n + col] = sum;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? std::atoi(argv[1]) : 128;
    if (n <= 0 || n % TILE) {
        std::fprintf(stderr, "usage: sgemm [N], N a multiple of %d\n", TILE);
        return 2;
    }
    std::vector<float> a(n * n), b(n * n), c(n * n);
    Random random;
    for (int i = 0; i < n * n; i++) {
        a[i] = random.unit() - 0.5f;
        b[i] = random.unit() - 0.5f;
    }
    size_t bytes = a.size() * sizeof(float);
    float *da, *db, *dc;
    HIP_CHECK(hipMalloc(&da, bytes));
    HIP_CHECK(hipMalloc(&db, bytes));
    HIP_CHECK(hipMalloc(&dc, bytes));
    HIP_CHECK(hipMemcpy(da, a.data(), bytes, hipMemcpyHostToDevice));
    HIP_CHECK(hipMemcpy(db, b.data(), bytes, hipMemcpyHostToDevice));
    sgemm<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(da, db, dc, n);
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
    return report("sgemm", ok, worst);
}
