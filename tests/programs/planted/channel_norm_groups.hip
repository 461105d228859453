// channel_norm_groups: the statistics of batch normalization take one workgroup for each of 24
// channels, so 280 of 304 compute units stand idle. The fix cuts each channel into 64 parts, whose
// sums are added by atomics.
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

#ifdef FIXED
enum { PARTS = 64 };
#else
enum { PARTS = 1 };
#endif
enum { CHANNELS = 24, PIXELS = 262144, THREADS = 256 };

__host__ __device__ inline int value_of(uint32_t channel, uint32_t pixel)
{
    return (int)((channel * 7 + pixel * 11) % 64) - 20;
}

__global__ void fill(int16_t *x)
{
    for (int i = threadIdx.x; i < 4096; i += THREADS) {
        const uint32_t pixel = blockIdx.x * 4096 + i;
        x[(size_t)blockIdx.y * PIXELS + pixel] = (int16_t)value_of(blockIdx.y, pixel);
    }
}

// Sums of values in fixed point and of their squares, two for each channel.
__global__ void __launch_bounds__(THREADS) statistics(const int16_t *x, int *sums)
{
    __shared__ int part[2];
    if (threadIdx.x < 2)
        part[threadIdx.x] = 0;
    __syncthreads();
    x += (size_t)blockIdx.y * PIXELS;
    int sum = 0, square = 0;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < PIXELS; i += PARTS * THREADS) {
        sum += x[i];
        square += x[i] * x[i];
    }
    for (int lane = 32; lane; lane /= 2) {
        sum += __shfl_xor(sum, lane);
        square += __shfl_xor(square, lane);
    }
    if (threadIdx.x % 64 == 0) {
        atomicAdd(&part[0], sum);
        atomicAdd(&part[1], square);
    }
    __syncthreads();
    if (threadIdx.x < 2)
        atomicAdd(&sums[2 * blockIdx.y + threadIdx.x], part[threadIdx.x]);
}

int main()
{
    int16_t *x;
    int *sums;
    CHECK(hipMalloc(&x, sizeof(int16_t) * CHANNELS * PIXELS));
    CHECK(hipMalloc(&sums, sizeof(int) * 2 * CHANNELS));
    CHECK(hipMemset(sums, 0, sizeof(int) * 2 * CHANNELS));
    fill<<<dim3(PIXELS / 4096, CHANNELS), THREADS>>>(x);
    CHECK(hipGetLastError());
    statistics<<<dim3(PARTS, CHANNELS), THREADS>>>(x, sums); // planted: small_grid
    CHECK(hipGetLastError());
    int got[2 * CHANNELS];
    CHECK(hipMemcpy(got, sums, sizeof(got), hipMemcpyDeviceToHost));
    for (int channel = 0; channel < CHANNELS; channel++) {
        int sum = 0, square = 0;
        for (int i = 0; i < PIXELS; i++) {
            const int v = value_of(channel, i);
            sum += v;
            square += v * v;
        }
        if (got[2 * channel] != sum || got[2 * channel + 1] != square) {
            fprintf(stderr, "channel %d: %d and %d, not %d and %d\n", channel, got[2 * channel],
                    got[2 * channel + 1], sum, square);
            return 1;
        }
    }
    CHECK(hipFree(x));
    CHECK(hipFree(sums));
    puts("ok");
    return 0;
}
