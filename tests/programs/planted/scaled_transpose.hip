// scaled_transpose: neighbouring threads write down a column of the result, each into another cache line. The fix turns tiles of 32 by 32 in LDS and writes rows.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t e_ = (call);                                                                    \
        if (e_ != hipSuccess) {                                                                    \
            fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(e_));                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { TILE = 32, ROWS_AT_ONCE = 8 };

__global__ void fill(float *a, uint32_t n)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = (float)(i % 8191);
}

// b (width by height) is alpha times the transpose of a (height by width).
__global__ void transpose(const float *a, float *b, float alpha, int width, int height)
{
    const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
#ifdef FIXED
    __shared__ float tile[TILE][TILE + 1];
    for (int j = 0; j < TILE; j += ROWS_AT_ONCE)
        tile[threadIdx.y + j][threadIdx.x] = a[(size_t)(y + j) * width + x];
    __syncthreads();
    const int column = blockIdx.y * TILE + threadIdx.x, row = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS_AT_ONCE)
        b[(size_t)(row + j) * height + column] = alpha * tile[threadIdx.x][threadIdx.y + j];
#else
    for (int j = 0; j < TILE; j += ROWS_AT_ONCE)
        b[(size_t)x * height + y + j] = alpha * a[(size_t)(y + j) * width + x]; // planted: uncoalesced_access
#endif
}

int main()
{
    const int width = 2048, height = 2560;
    const size_t n = (size_t)width * height;
    float *a, *b;
    CHECK(hipMalloc(&a, n * sizeof(float)));
    CHECK(hipMalloc(&b, n * sizeof(float)));
    fill<<<(n + 255) / 256, 256>>>(a, n);
    CHECK(hipGetLastError());
    const dim3 threads(TILE, ROWS_AT_ONCE);
    // There, back, and there again, as the passes of a two-dimensional transform do.
    transpose<<<dim3(width / TILE, height / TILE), threads>>>(a, b, 2, width, height);
    CHECK(hipGetLastError());
    transpose<<<dim3(height / TILE, width / TILE), threads>>>(b, a, 0.5f, height, width);
    CHECK(hipGetLastError());
    transpose<<<dim3(width / TILE, height / TILE), threads>>>(a, b, 3, width, height);
    CHECK(hipGetLastError());
    std::vector<float> got(n);
    CHECK(hipMemcpy(got.data(), b, n * sizeof(float), hipMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const float want = 3 * (float)(((size_t)y * width + x) % 8191);
            if (got[(size_t)x * height + y] != want) {
                fprintf(stderr, "row %d, column %d: %g, not %g\n", x, y,
                        got[(size_t)x * height + y], want);
                return 1;
            }
        }
    CHECK(hipFree(a));
    CHECK(hipFree(b));
    puts("ok");
    return 0;
}
