// grouped_linear_dense: a layer of four groups is run as a dense matrix product, three quarters of
// which multiply by zero. The fix multiplies each group's outputs with its own inputs only.
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

typedef float float16 __attribute__((ext_vector_type(16)));

const int width = 512, group = 128, tile = 128, depth = 32, pitch = depth + 1;

// y = x * w^T, where w is block-diagonal with blocks of 128 x 128; exact f32, for the layer is
// trained with it. A group of four waves makes a tile of 128 x 128, a wave 64 x 64 of it. The LDS
// leaves room for one such group on a compute unit, which looks like too few waves; but each of
// them has 64 matrix instructions to issue between two barriers.
__global__ __launch_bounds__(256) void linear(const float *__restrict__ x,
                                              const float *__restrict__ w, float *__restrict__ y)
{
    __shared__ float tx[tile][pitch], tw[tile][pitch];
    int lane = threadIdx.x % 64, wave = threadIdx.x / 64;
    int row0 = blockIdx.y * tile, column0 = blockIdx.x * tile;
    int row = wave / 2 * 64 + lane % 32, column = wave % 2 * 64 + lane % 32;
#ifdef FIXED
    int begin = column0 / group * group, end = begin + group;
#else
    int begin = 0, end = width;
#endif
    float16 sum[2][2] = {};
    for (int k0 = begin; k0 < end; k0 += depth) {
        float vx[16], vw[16];
        for (int i = 0; i < 16; i++) {
            int r = threadIdx.x / depth + i * 8, k = k0 + threadIdx.x % depth;
            vx[i] = x[(size_t)(row0 + r) * width + k];
            vw[i] = w[(size_t)(column0 + r) * width + k];
        }
        __syncthreads();
        for (int i = 0; i < 16; i++) {
            tx[threadIdx.x / depth + i * 8][threadIdx.x % depth] = vx[i];
            tw[threadIdx.x / depth + i * 8][threadIdx.x % depth] = vw[i];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < depth / 2 * 4; i++) {
            int k = i / 4 * 2 + lane / 32;
            float a = tx[row + i / 2 % 2 * 32][k], b = tw[column + i % 2 * 32][k];
            float16 &s = sum[i / 2 % 2][i % 2];
            s = __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, s, 0, 0, 0); // planted: mfma_throughput
        }
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int r = 0; r < 16; r++) {
                int at = row0 + wave / 2 * 64 + i * 32 + r / 4 * 8 + lane / 32 * 4 + r % 4;
                y[(size_t)at * width + column0 + column + j * 32] = sum[i][j][r];
            }
}

int main()
{
    const int rows = 76 * tile;
    std::vector<float> x((size_t)rows * width), w(width * width), y(x.size());
    for (size_t i = 0; i < x.size(); i++)
        x[i] = (float)((int)(i * 7 % 29) - 14);
    for (int o = 0; o < width; o++)
        for (int i = 0; i < width; i++)
            w[o * width + i] = o / group == i / group ? (float)((o * 5 + i * 3) % 31 - 15) : 0.0f;
    float *dx, *dw, *dy;
    CHECK(hipMalloc(&dx, x.size() * sizeof(float)));
    CHECK(hipMalloc(&dw, w.size() * sizeof(float)));
    CHECK(hipMalloc(&dy, y.size() * sizeof(float)));
    CHECK(hipMemcpy(dx, x.data(), x.size() * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dw, w.data(), w.size() * sizeof(float), hipMemcpyHostToDevice));
    linear<<<dim3(width / tile, rows / tile), 256>>>(dx, dw, dy);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(y.data(), dy, y.size() * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(hipFree(dx));
    CHECK(hipFree(dw));
    CHECK(hipFree(dy));
    for (size_t i = 0; i < y.size(); i += 997) {
        float want = 0;
        for (int k = 0; k < width; k++)
            want += x[i / width * width + k] * w[i % width * width + k];
        if (y[i] != want) {
            std::fprintf(stderr, "y[%zu]: %g, not %g\n", i, y[i], want);
            return 1;
        }
    }
    std::puts("ok");
    return 0;
}
