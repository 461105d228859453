// column_sum_in_memory: the sum of a column is kept in global memory, so that each step waits for a
// load, adds and stores. The fix sums in a register, which lets many rows be loaded at once.
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

// The gradient of a bias: the sum of each column of the gradients of a batch, in row-major order.
__global__ __launch_bounds__(256) void bias_gradient(const float *gradient, float *bias, int rows,
                                                     int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
    float sum = bias[column];
#pragma unroll 16
    for (int row = 0; row < rows; row++)
        sum += gradient[(size_t)row * columns + column];
    bias[column] = sum;
#else
    for (int row = 0; row < rows; row++)
        bias[column] += gradient[(size_t)row * columns + column]; // planted: memory_latency
#endif
}

int main()
{
    const int rows = 64, columns = 608 * 256;
    std::vector<float> gradient((size_t)rows * columns), bias(columns, 1.0f), want(columns, 1.0f);
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++) {
            float value = (float)((row * 13 + column * 7) % 101);
            gradient[(size_t)row * columns + column] = value;
            want[column] += value;
        }
    float *dgradient, *dbias;
    CHECK(hipMalloc(&dgradient, gradient.size() * sizeof(float)));
    CHECK(hipMalloc(&dbias, columns * sizeof(float)));
    CHECK(hipMemcpy(dgradient, gradient.data(), gradient.size() * sizeof(float),
                    hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dbias, bias.data(), columns * sizeof(float), hipMemcpyHostToDevice));
    bias_gradient<<<columns / 256, 256>>>(dgradient, dbias, rows, columns);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(bias.data(), dbias, columns * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(hipFree(dgradient));
    CHECK(hipFree(dbias));
    if (bias != want) {
        std::fprintf(stderr, "the sums are wrong\n");
        return 1;
    }
    std::puts("ok");
    return 0;
}
