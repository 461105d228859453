// layer_norm_rows: each thread normalizes a row of 128 values alone, so the lanes of a load are 512
// bytes apart. The fix gives a row to a wave, whose lanes read neighbours.
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

enum { WIDTH = 128, ROWS = 38912, THREADS = 128 };

__host__ __device__ inline float x_of(uint32_t row, uint32_t i)
{
    return (float)((row * 19 + i * i * 7) % 61) / 16;
}

__global__ void fill(float *x)
{
    x[(size_t)blockIdx.x * WIDTH + threadIdx.x] = x_of(blockIdx.x, threadIdx.x);
}

__global__ void __launch_bounds__(THREADS) layer_norm(const float *x, float *y)
{
    const int thread = blockIdx.x * THREADS + threadIdx.x;
#ifdef FIXED
    const size_t first = (size_t)(thread / 64) * WIDTH + thread % 64;
    const float a = x[first], b = x[first + 64];
    float sum = a + b, square = a * a + b * b;
    for (int lane = 32; lane; lane /= 2) {
        sum += __shfl_xor(sum, lane);
        square += __shfl_xor(square, lane);
    }
    const float mean = sum / WIDTH, scale = rsqrtf(square / WIDTH - mean * mean + 1e-5f);
    y[first] = (a - mean) * scale;
    y[first + 64] = (b - mean) * scale;
#else
    const size_t first = (size_t)thread * WIDTH;
    float sum = 0, square = 0;
    for (int i = 0; i < WIDTH; i++) {
        const float v = x[first + i]; // planted: uncoalesced_access
        sum += v;
        square += v * v;
    }
    const float mean = sum / WIDTH, scale = rsqrtf(square / WIDTH - mean * mean + 1e-5f);
    for (int i = 0; i < WIDTH; i++)
        y[first + i] = (x[first + i] - mean) * scale;
#endif
}

int main()
{
    const size_t n = (size_t)ROWS * WIDTH;
    float *x, *y;
    CHECK(hipMalloc(&x, sizeof(float) * n));
    CHECK(hipMalloc(&y, sizeof(float) * n));
    fill<<<ROWS, WIDTH>>>(x);
    CHECK(hipGetLastError());
#ifdef FIXED
    layer_norm<<<ROWS * 64 / THREADS, THREADS>>>(x, y);
#else
    layer_norm<<<ROWS / THREADS, THREADS>>>(x, y);
#endif
    CHECK(hipGetLastError());
    std::vector<float> got(n);
    CHECK(hipMemcpy(got.data(), y, sizeof(float) * n, hipMemcpyDeviceToHost));
    for (int row = 0; row < ROWS; row += 97) {
        double sum = 0, square = 0;
        for (int i = 0; i < WIDTH; i++) {
            sum += x_of(row, i);
            square += (double)x_of(row, i) * x_of(row, i);
        }
        const double mean = sum / WIDTH, scale = 1 / sqrt(square / WIDTH - mean * mean + 1e-5);
        for (int i = 0; i < WIDTH; i++) {
            const double want = (x_of(row, i) - mean) * scale;
            if (!(fabs(got[(size_t)row * WIDTH + i] - want) < 1e-3)) {
                fprintf(stderr, "row %d, value %d: %g, not %g\n", row, i,
                        got[(size_t)row * WIDTH + i], want);
                return 1;
            }
        }
    }
    CHECK(hipFree(x));
    CHECK(hipFree(y));
    puts("ok");
    return 0;
}
