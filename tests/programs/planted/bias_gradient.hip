// bias_gradient: each element of a layer's gradient is added to its column's sum in global memory,
// so 256 sums take all the atomics. The fix adds 64 rows in a register first and then adds once.
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

enum { COLUMNS = 256, ROWS = 19456, RUN = 64 };

__host__ __device__ inline int gradient_of(uint32_t row, uint32_t column)
{
    return (int)((row * 31 + column * 17) % 23) - 11;
}

__global__ void fill(int *gradient)
{
    gradient[(size_t)blockIdx.x * COLUMNS + threadIdx.x] = gradient_of(blockIdx.x, threadIdx.x);
}

// Fixed-point gradients, so that the sums do not depend on the order.
__global__ void __launch_bounds__(COLUMNS) bias(const int *gradient, int *sums)
{
    const int column = threadIdx.x;
    gradient += (size_t)blockIdx.x * RUN * COLUMNS;
#ifdef FIXED
    int sum = 0;
    for (int row = 0; row < RUN; row++)
        sum += gradient[row * COLUMNS + column];
    atomicAdd(&sums[column], sum);
#else
    for (int row = 0; row < RUN; row++)
        atomicAdd(&sums[column], gradient[row * COLUMNS + column]); // planted: atomic_contention
#endif
}

int main()
{
    int *gradient, *sums;
    CHECK(hipMalloc(&gradient, sizeof(int) * ROWS * COLUMNS));
    CHECK(hipMalloc(&sums, sizeof(int) * COLUMNS));
    CHECK(hipMemset(sums, 0, sizeof(int) * COLUMNS));
    fill<<<ROWS, COLUMNS>>>(gradient);
    CHECK(hipGetLastError());
    bias<<<ROWS / RUN, COLUMNS>>>(gradient, sums);
    CHECK(hipGetLastError());
    std::vector<int> got(COLUMNS);
    CHECK(hipMemcpy(got.data(), sums, sizeof(int) * COLUMNS, hipMemcpyDeviceToHost));
    for (int column = 0; column < COLUMNS; column++) {
        int want = 0;
        for (int row = 0; row < ROWS; row++)
            want += gradient_of(row, column);
        if (got[column] != want) {
            fprintf(stderr, "column %d: %d, not %d\n", column, got[column], want);
            return 1;
        }
    }
    CHECK(hipFree(gradient));
    CHECK(hipFree(sums));
    puts("ok");
    return 0;
}
