// exposure_histogram: all pixels of an image count into the same eight words of global memory. The fix counts in LDS and adds the eight sums of each workgroup.
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

enum { BINS = 8, THREADS = 256 };

__host__ __device__ inline uint32_t brightness(uint32_t i)
{
    uint32_t h = (i ^ i >> 15) * 0x846ca68bu;
    h = (h ^ h >> 13) * 0x7feb352du;
    return (h >> 24 & h >> 16) & 0xff; // more dark pixels than bright ones
}

// Four pixels of a byte to a word.
__global__ void expose(uint32_t *image)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t word = 0;
    for (uint32_t p = 0; p < 4; p++)
        word |= brightness(4 * i + p) << 8 * p;
    image[i] = word;
}

__global__ void __launch_bounds__(THREADS)
    histogram(const uint32_t *image, uint32_t *bins, uint32_t words)
{
#ifdef FIXED
    __shared__ uint32_t local[BINS * 64]; // one copy for each lane
    for (int i = threadIdx.x; i < BINS * 64; i += THREADS)
        local[i] = 0;
    __syncthreads();
#endif
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < words; i += gridDim.x * THREADS) {
        const uint32_t word = image[i];
        for (uint32_t p = 0; p < 4; p++) {
            const uint32_t bin = word >> (8 * p + 5) & 7;
#ifdef FIXED
            atomicAdd(&local[bin * 64 + threadIdx.x % 64], 1);
#else
            atomicAdd(&bins[bin], 1); // planted: atomic_contention
#endif
        }
    }
#ifdef FIXED
    __syncthreads();
    if (threadIdx.x < BINS) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < 64; i++)
            sum += local[threadIdx.x * 64 + (i + threadIdx.x) % 64];
        atomicAdd(&bins[threadIdx.x], sum);
    }
#endif
}

int main()
{
    const uint32_t pixels = 2 << 20, words = pixels / 4;
    uint32_t *image, *bins;
    CHECK(hipMalloc(&image, words * sizeof(uint32_t)));
    CHECK(hipMalloc(&bins, BINS * sizeof(uint32_t)));
    CHECK(hipMemset(bins, 0, BINS * sizeof(uint32_t)));
    expose<<<words / 256, 256>>>(image);
    CHECK(hipGetLastError());
    histogram<<<608, THREADS>>>(image, bins, words);
    CHECK(hipGetLastError());
    std::vector<uint32_t> got(BINS), want(BINS);
    CHECK(hipMemcpy(got.data(), bins, BINS * sizeof(uint32_t), hipMemcpyDeviceToHost));
    for (uint32_t i = 0; i < pixels; i++)
        want[brightness(i) >> 5]++;
    for (int i = 0; i < BINS; i++)
        if (got[i] != want[i]) {
            fprintf(stderr, "bin %d: %u, not %u\n", i, got[i], want[i]);
            return 1;
        }
    CHECK(hipFree(image));
    CHECK(hipFree(bins));
    puts("ok");
    return 0;
}
