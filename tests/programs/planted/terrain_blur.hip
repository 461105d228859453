// terrain_blur: a thread reads the 65 rows around its pixel from L2, and so do its neighbours above
// and below. The fix gives a thread eight pixels of a column, which share 72 reads.
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

enum { WIDTH = 2048, HEIGHT = 1024, REACH = 32, TAPS = 2 * REACH + 1, THREADS = 256, RUN = 8 };

__host__ __device__ inline float height_at(int row, int column)
{
    return (float)(((uint32_t)row * 40503u + (uint32_t)column * 2654435761u) >> 22);
}

// Blurs the heights from north to south; there are REACH more rows at either end. RUN - 1 weights
// of zero lie before and after those of the taps.
__global__ void __launch_bounds__(THREADS)
    blur_columns(const float *heights, const float *weights, float *blurred)
{
    const int column = blockIdx.x * THREADS + threadIdx.x;
#ifdef FIXED
    const int row = blockIdx.y * RUN;
    const float *above = heights + row * WIDTH + column;
    float sums[RUN] = {0};
#pragma unroll 8
    for (int i = 0; i < TAPS + RUN - 1; i++) {
        const float value = above[i * WIDTH];
#pragma unroll
        for (int j = 0; j < RUN; j++)
            sums[j] += weights[RUN - 1 + i - j] * value;
    }
    for (int j = 0; j < RUN; j++)
        blurred[(row + j) * WIDTH + column] = sums[j];
#else
    const int row = blockIdx.y;
    const float *above = heights + row * WIDTH + column;
    float sum = 0;
    for (int i = 0; i < TAPS; i++)
        sum += weights[RUN - 1 + i] * above[i * WIDTH]; // planted: l2_bandwidth
    blurred[row * WIDTH + column] = sum;
#endif
}

int main()
{
    std::vector<float> heights((size_t)(HEIGHT + 2 * REACH) * WIDTH), got(HEIGHT * WIDTH);
    std::vector<float> weights(TAPS + 2 * (RUN - 1), 0), want(WIDTH);
    for (size_t i = 0; i < heights.size(); i++)
        heights[i] = height_at((int)(i / WIDTH), (int)(i % WIDTH));
    for (int i = 0; i < TAPS; i++)
        weights[RUN - 1 + i] = (float)(REACH + 1 - abs(i - REACH));
    float *heights_in, *weights_in, *blurred;
    CHECK(hipMalloc(&heights_in, heights.size() * sizeof(float)));
    CHECK(hipMalloc(&weights_in, weights.size() * sizeof(float)));
    CHECK(hipMalloc(&blurred, got.size() * sizeof(float)));
    CHECK(hipMemcpy(heights_in, heights.data(), heights.size() * sizeof(float),
                    hipMemcpyHostToDevice));
    CHECK(hipMemcpy(weights_in, weights.data(), weights.size() * sizeof(float),
                    hipMemcpyHostToDevice));
#ifdef FIXED
    const dim3 grid(WIDTH / THREADS, HEIGHT / RUN);
#else
    const dim3 grid(WIDTH / THREADS, HEIGHT);
#endif
    blur_columns<<<grid, THREADS>>>(heights_in, weights_in, blurred);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), blurred, got.size() * sizeof(float), hipMemcpyDeviceToHost));
    for (int row = 0; row < HEIGHT; row++) {
        want.assign(WIDTH, 0);
        for (int i = 0; i < TAPS; i++)
            for (int column = 0; column < WIDTH; column++)
                want[column] += weights[RUN - 1 + i] * heights[(row + i) * WIDTH + column];
        for (int column = 0; column < WIDTH; column++)
            if (got[row * WIDTH + column] != want[column]) {
                fprintf(stderr, "row %d, column %d: %g, not %g\n", row, column,
                        got[row * WIDTH + column], want[column]);
                return 1;
            }
    }
    CHECK(hipFree(heights_in));
    CHECK(hipFree(weights_in));
    CHECK(hipFree(blurred));
    puts("ok");
    return 0;
}
