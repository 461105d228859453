// hyperspectral_interleave: calibrated bands are stored pixel by pixel, so the 64 stores of a wave
// lie 128 bytes apart. The fix turns 64 pixels in LDS and stores them as one row.
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

enum { BANDS = 32, PIXELS = 512 * 512, THREADS = 256, TILE = 64 };

__host__ __device__ inline uint16_t count_of(int band, int pixel)
{
    return (uint16_t)((band * 577 + pixel * 31) % 4093);
}

__global__ void calibrate(const uint16_t *counts, const float *gain, const float *dark, float *cube)
{
#ifdef FIXED
    __shared__ float tile[TILE][BANDS + 1];
    const int first = blockIdx.x * TILE, column = threadIdx.x % TILE;
    for (int band = threadIdx.x / TILE; band < BANDS; band += THREADS / TILE) {
        const float count = counts[band * PIXELS + first + column];
        tile[column][band] = (count - dark[band]) * gain[band];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < TILE * BANDS; i += THREADS)
        cube[first * BANDS + i] = tile[i / BANDS][i % BANDS];
#else
    const int band = blockIdx.y, pixel = blockIdx.x * THREADS + threadIdx.x;
    const float count = counts[band * PIXELS + pixel];
    cube[pixel * BANDS + band] = (count - dark[band]) * gain[band]; // planted: uncoalesced_access
#endif
}

template <typename T> T *on_device(const std::vector<T> &values)
{
    T *copy;
    CHECK(hipMalloc(&copy, values.size() * sizeof(T)));
    CHECK(hipMemcpy(copy, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
    return copy;
}

int main()
{
    std::vector<uint16_t> counts((size_t)BANDS * PIXELS);
    std::vector<float> gain(BANDS), dark(BANDS), got((size_t)BANDS * PIXELS);
    for (int band = 0; band < BANDS; band++) {
        gain[band] = 1.0f / (float)(1 << band % 5);
        dark[band] = (float)(40 + band);
        for (int pixel = 0; pixel < PIXELS; pixel++)
            counts[(size_t)band * PIXELS + pixel] = count_of(band, pixel);
    }
    uint16_t *counts_in = on_device(counts);
    float *gain_in = on_device(gain), *dark_in = on_device(dark), *cube;
    CHECK(hipMalloc(&cube, got.size() * sizeof(float)));
#ifdef FIXED
    const dim3 grid(PIXELS / TILE);
#else
    const dim3 grid(PIXELS / THREADS, BANDS);
#endif
    calibrate<<<grid, THREADS>>>(counts_in, gain_in, dark_in, cube);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), cube, got.size() * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 0; i < PIXELS * BANDS; i++) {
        const int band = i % BANDS;
        const float want = ((float)count_of(band, i / BANDS) - dark[band]) * gain[band];
        if (got[i] != want) {
            fprintf(stderr, "pixel %d, band %d: %g, not %g\n", i / BANDS, band, got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(counts_in));
    CHECK(hipFree(gain_in));
    CHECK(hipFree(dark_in));
    CHECK(hipFree(cube));
    puts("ok");
    return 0;
}
