// batched_gemm: a thread keeps 12 by 12 sums in registers, but the kernel does not say that its workgroups have 256 threads, so the compiler has 128 registers and spills. The fix says so with __launch_bounds__.
#include <cmath>
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

enum { TILE = 192, SIDE = 12, ACROSS = TILE / SIDE, THREADS = ACROSS * ACROSS, DEPTH = 8 };

#ifdef FIXED
#define BOUNDS __launch_bounds__(THREADS)
#else
#define BOUNDS
#endif

__host__ __device__ inline float a_of(uint32_t batch, uint32_t row, uint32_t k)
{
    return (float)((row * 7 + k * 5 + batch) % 13) - 6;
}

__host__ __device__ inline float b_of(uint32_t batch, uint32_t k, uint32_t column)
{
    return (float)((k * 3 + column * 11 + batch) % 17) / 16 - 0.5f;
}

__global__ void fill(_Float16 *a, _Float16 *b, int depth)
{
    const uint32_t batch = blockIdx.y, k = blockIdx.x, i = threadIdx.x;
    a[((size_t)batch * depth + k) * TILE + i] = (_Float16)a_of(batch, i, k);
    b[((size_t)batch * depth + k) * TILE + i] = (_Float16)b_of(batch, k, i);
}

// c = a b for each matrix of a batch; a is stored column after column, b row after row.
// In half precision, summed in single precision.
__global__ void BOUNDS gemm(const _Float16 *a, const _Float16 *b, _Float16 *c, int depth)
{
    __shared__ float tile_a[DEPTH * TILE], tile_b[DEPTH * TILE];
    a += (size_t)blockIdx.x * depth * TILE;
    b += (size_t)blockIdx.x * depth * TILE;
    c += (size_t)blockIdx.x * TILE * TILE;
    const int x = threadIdx.x % ACROSS, y = threadIdx.x / ACROSS;
    float sum[SIDE][SIDE] = {}; // planted: register_spills
    for (int k = 0; k < depth; k += DEPTH) {
        for (int i = threadIdx.x; i < DEPTH * TILE; i += THREADS) {
            tile_a[i] = a[k * TILE + i];
            tile_b[i] = b[k * TILE + i];
        }
        __syncthreads();
        for (int d = 0; d < DEPTH; d++)
#pragma unroll
            for (int i = 0; i < SIDE; i++)
#pragma unroll
                for (int j = 0; j < SIDE; j++)
                    sum[i][j] +=
                        tile_a[d * TILE + i * ACROSS + y] * tile_b[d * TILE + j * ACROSS + x];
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int j = 0; j < SIDE; j++)
            c[(i * ACROSS + y) * TILE + j * ACROSS + x] = (_Float16)sum[i][j];
}

int main()
{
    const int batches = 608, depth = 24;
    const size_t n = (size_t)batches * TILE * TILE;
    _Float16 *a, *b, *c;
    CHECK(hipMalloc(&a, (size_t)batches * depth * TILE * sizeof(_Float16)));
    CHECK(hipMalloc(&b, (size_t)batches * depth * TILE * sizeof(_Float16)));
    CHECK(hipMalloc(&c, n * sizeof(_Float16)));
    fill<<<dim3(depth, batches), TILE>>>(a, b, depth);
    CHECK(hipGetLastError());
    gemm<<<batches, THREADS>>>(a, b, c, depth);
    CHECK(hipGetLastError());
    std::vector<_Float16> got(n);
    CHECK(hipMemcpy(got.data(), c, n * sizeof(_Float16), hipMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i += 97) {
        const int batch = i / (TILE * TILE), row = i / TILE % TILE, column = i % TILE;
        float want = 0;
        for (int k = 0; k < depth; k++)
            want += a_of(batch, row, k) * b_of(batch, k, column);
        if (!(fabsf((float)got[i] - want) < 1e-3f * fabsf(want) + 1e-2f)) {
            fprintf(stderr, "matrix %d, row %d, column %d: %g, not %g\n", batch, row, column,
                    (float)got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(a));
    CHECK(hipFree(b));
    CHECK(hipFree(c));
    puts("ok");
    return 0;
}
