// random_fill: each thread fills its own run of 32 numbers, as a thread of a CPU would, so the stores of a wave are 128 bytes apart. The fix deals the numbers out in turn, so that neighbouring lanes store neighbours.
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

// A counter-based generator: number `counter` of stream `seed`, uniform in [0, 1).
__host__ __device__ inline float uniform(uint32_t seed, uint32_t counter)
{
    const uint32_t state = (counter + seed) * 747796405u + 2891336453u;
    const uint32_t word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    return (float)((word >> 22 ^ word) >> 8) * 0x1p-24f;
}

__global__ void fill_uniform(float *out, uint32_t seed, uint32_t numbers,
                             [[maybe_unused]] uint32_t per_thread)
{
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
    const uint32_t threads = gridDim.x * blockDim.x;
    for (uint32_t i = thread; i < numbers; i += threads)
        out[i] = uniform(seed, i);
#else
    const uint32_t first = thread * per_thread, end = min(first + per_thread, numbers);
    for (uint32_t i = first; i < end; i++)
        out[i] = uniform(seed, i); // planted: uncoalesced_access
#endif
}

int main()
{
    const uint32_t numbers = 8 << 20, per_thread = 32;
    float *out;
    CHECK(hipMalloc(&out, numbers * sizeof(float)));
    std::vector<float> got(numbers);
    uint32_t seed = 0;
    for (int batch = 0; batch < 3; batch++) {
        seed = 12345 + 1000003 * batch;
        fill_uniform<<<numbers / per_thread / 256, 256>>>(out, seed, numbers, per_thread);
        CHECK(hipGetLastError());
    }
    CHECK(hipMemcpy(got.data(), out, numbers * sizeof(float), hipMemcpyDeviceToHost));
    double mean = 0;
    for (uint32_t i = 0; i < numbers; i++) {
        if (got[i] != uniform(seed, i)) {
            fprintf(stderr, "number %u: %g, not %g\n", i, got[i], uniform(seed, i));
            return 1;
        }
        mean += got[i] / numbers;
    }
    if (fabs(mean - 0.5) > 0.01) {
        fprintf(stderr, "the mean is %g\n", mean);
        return 1;
    }
    CHECK(hipFree(out));
    puts("ok");
    return 0;
}
