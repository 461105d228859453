// hot_pixel_repair: one pixel in 50 takes the median of its neighbours, so most waves run the
// median for one or two lanes. The fix lists the hot pixels of a workgroup in LDS, a lane to each.
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

enum { WIDTH = 2048, HEIGHT = 1024, PIXELS = WIDTH * HEIGHT, THREADS = 256, ROUNDS = 8 };
enum { REACH = 2, SIDE = 2 * REACH + 1, NEIGHBOURS = SIDE * SIDE, LIMIT = 4000 };

__host__ __device__ inline uint16_t exposure(uint32_t pixel)
{
    uint32_t bits = pixel * 2654435761u;
    bits = (bits ^ bits >> 15) * 2246822519u;
    bits ^= bits >> 13;
    return (uint16_t)(bits % 50 == 0 ? LIMIT + 1 + (bits >> 20) % 90 : (bits >> 16) % 1500);
}

__host__ __device__ inline int clamped(int at, int size)
{
    return at < 0 ? 0 : at >= size ? size - 1 : at;
}

// The median of the 25 pixels around one: the one that 12 of the others come before.
__host__ __device__ inline uint16_t median(const uint16_t *image, int pixel)
{
    int around[NEIGHBOURS], found = 0;
#pragma unroll
    for (int i = 0; i < NEIGHBOURS; i++)
        around[i] = image[clamped(pixel / WIDTH + i / SIDE - REACH, HEIGHT) * WIDTH +
                          clamped(pixel % WIDTH + i % SIDE - REACH, WIDTH)];
#pragma unroll
    for (int i = 0; i < NEIGHBOURS; i++) {
        int before = 0;
#pragma unroll
        for (int j = 0; j < NEIGHBOURS; j++)
            before += j < i ? around[j] <= around[i] : around[j] < around[i];
        found = before == NEIGHBOURS / 2 ? around[i] : found;
    }
    return (uint16_t)found;
}

__global__ void __launch_bounds__(THREADS) repair(const uint16_t *image, uint16_t *repaired)
{
    const int first = blockIdx.x * THREADS * ROUNDS + threadIdx.x;
#ifdef FIXED
    __shared__ int hot[THREADS * ROUNDS], count;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    for (int pixel = first; pixel < first + THREADS * ROUNDS; pixel += THREADS) {
        if (image[pixel] > LIMIT)
            hot[atomicAdd(&count, 1)] = pixel;
        else
            repaired[pixel] = image[pixel];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += THREADS)
        repaired[hot[i]] = median(image, hot[i]);
#else
    for (int pixel = first; pixel < first + THREADS * ROUNDS; pixel += THREADS) {
        uint16_t value = image[pixel];
        if (value > LIMIT) // planted: divergence
            value = median(image, pixel);
        repaired[pixel] = value;
    }
#endif
}

int main()
{
    std::vector<uint16_t> image(PIXELS), got(PIXELS);
    for (int i = 0; i < PIXELS; i++)
        image[i] = exposure(i);
    uint16_t *in, *out;
    CHECK(hipMalloc(&in, PIXELS * sizeof(uint16_t)));
    CHECK(hipMalloc(&out, PIXELS * sizeof(uint16_t)));
    CHECK(hipMemcpy(in, image.data(), PIXELS * sizeof(uint16_t), hipMemcpyHostToDevice));
    repair<<<PIXELS / THREADS / ROUNDS, THREADS>>>(in, out);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), out, PIXELS * sizeof(uint16_t), hipMemcpyDeviceToHost));
    for (int i = 0; i < PIXELS; i++) {
        const uint16_t want = image[i] > LIMIT ? median(image.data(), i) : image[i];
        if (got[i] != want) {
            fprintf(stderr, "pixel %d: %d, not %d\n", i, got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(in));
    CHECK(hipFree(out));
    puts("ok");
    return 0;
}
