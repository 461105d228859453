// A product of matrices by tiles in LDS. The compiler knows how often the inner loop runs and
// writes all of it out; asked for fewer copies it makes a loop of it.
#include "check.h"

#include <vector>

constexpr int TILE = 16;

__global__ void gemm(const int *a, const int *b, int *c, int n)
{
    __shared__ int left[TILE][TILE], right[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    int sum = 0;
    for (int at = 0; at < n; at += TILE) {
        left[threadIdx.y][threadIdx.x] = a[row * n + at + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(at + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

int main()
{
    constexpr int n = 64;
    std::vector<int> a(n * n), b(n * n), c(n * n);
    Random random;
    for (int &value : a)
        value = static_cast<int>(random.next() % 201) - 100;
    for (int &value : b)
        value = static_cast<int>(random.next() % 201) - 100;
    int *da, *db, *dc;
    HIP_CHECK(hipMalloc(&da, a.size() * sizeof(int)));
    HIP_CHECK(hipMalloc(&db, b.size() * sizeof(int)));
    HIP_CHECK(hipMalloc(&dc, c.size() * sizeof(int)));
    HIP_CHECK(hipMemcpy(da, a.data(), a.size() * sizeof(int), hipMemcpyHostToDevice));
    HIP_CHECK(hipMemcpy(db, b.data(), b.size() * sizeof(int), hipMemcpyHostToDevice));
    gemm<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(da, db, dc, n);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipMemcpy(c.data(), dc, c.size() * sizeof(int), hipMemcpyDeviceToHost));
    bool ok = true;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            ok = ok && sum == c[i * n + j];
        }
    return report("small_gemm", ok);
}
