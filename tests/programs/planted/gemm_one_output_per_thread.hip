// gemm_one_output_per_thread: a tiled GEMM where each thread makes one output reads two words of
// LDS for each multiply-add. The fix makes 4 x 4 outputs in a thread, so that words are used four
// times.
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

#ifdef FIXED
const int each = 4;
#else
const int each = 1;
#endif
const int tile = 16 * each, depth = 16;

// C = A * B in row-major order; a group of 16 x 16 threads makes a tile of C.
__global__ __launch_bounds__(256) void gemm(const float *__restrict__ a,
                                            const float *__restrict__ b, float *__restrict__ c,
                                            int n, int k)
{
    __shared__ float ta[depth][tile + 1], tb[depth][tile];
    int tx = threadIdx.x, ty = threadIdx.y, id = ty * 16 + tx;
    int row0 = blockIdx.y * tile, column0 = blockIdx.x * tile;
    float sum[each][each] = {};
    for (int k0 = 0; k0 < k; k0 += depth) {
#pragma unroll
        for (int i = id; i < tile * depth; i += 256) {
            ta[i % depth][i / depth] = a[(size_t)(row0 + i / depth) * k + k0 + i % depth];
            tb[i / tile][i % tile] = b[(size_t)(k0 + i / tile) * n + column0 + i % tile];
        }
        __syncthreads();
#pragma unroll
        for (int t = 0; t < depth; t++) {
            float va[each], vb[each];
            for (int i = 0; i < each; i++) {
                va[i] = ta[t][i * 16 + ty];
                vb[i] = tb[t][i * 16 + tx];
            }
            for (int i = 0; i < each; i++)
                for (int j = 0; j < each; j++)
                    sum[i][j] += va[i] * vb[j]; // planted: lds_bandwidth
        }
        __syncthreads();
    }
    for (int i = 0; i < each; i++)
        for (int j = 0; j < each; j++)
            c[(size_t)(row0 + i * 16 + ty) * n + column0 + j * 16 + tx] = sum[i][j];
}

int main()
{
    const int m = 1024, n = 1216, k = 256;
    std::vector<float> a((size_t)m * k), b((size_t)k * n), c((size_t)m * n);
    for (size_t i = 0; i < a.size(); i++)
        a[i] = (float)((int)(i * 7 % 29) - 14);
    for (size_t i = 0; i < b.size(); i++)
        b[i] = (float)((int)(i * 5 % 31) - 15);
    float *da, *db, *dc;
    CHECK(hipMalloc(&da, a.size() * sizeof(float)));
    CHECK(hipMalloc(&db, b.size() * sizeof(float)));
    CHECK(hipMalloc(&dc, c.size() * sizeof(float)));
    CHECK(hipMemcpy(da, a.data(), a.size() * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(db, b.data(), b.size() * sizeof(float), hipMemcpyHostToDevice));
    gemm<<<dim3(n / tile, m / tile), dim3(16, 16)>>>(da, db, dc, n, k);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(c.data(), dc, c.size() * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(hipFree(da));
    CHECK(hipFree(db));
    CHECK(hipFree(dc));
    for (size_t i = 0; i < c.size(); i += 313) {
        float want = 0;
        for (int t = 0; t < k; t++)
            want += a[i / n * k + t] * b[(size_t)t * n + i % n];
        if (c[i] != want) {
            std::fprintf(stderr, "c[%zu]: %g, not %g\n", i, c[i], want);
            return 1;
        }
    }
    std::puts("ok");
    return 0;
}
