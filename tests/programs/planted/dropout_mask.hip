// dropout_mask: the backward pass of dropout reads its mask as a float for each value of half
// precision, two thirds of all that it reads. The fix keeps the mask as one bit for each value.
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

enum { THREADS = 256, GROUPS = 16384, N = THREADS * GROUPS };

__host__ __device__ inline bool kept(uint32_t i)
{
    return (i * 2654435761u >> 16) % 10 != 0;
}

__host__ __device__ inline float gradient_of(uint32_t i)
{
    return (float)((int)(i % 37) - 18) / 8;
}

__global__ void fill(_Float16 *gradient, float *floats, uint64_t *bits)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    gradient[i] = (_Float16)gradient_of(i);
#ifdef FIXED
    const uint64_t wave = __ballot(kept(i));
    if (i % 64 == 0)
        bits[i / 64] = wave;
#else
    floats[i] = kept(i) ? 1 : 0;
#endif
}

__global__ void __launch_bounds__(THREADS)
    backward(const _Float16 *gradient, const float *floats, const uint64_t *bits, _Float16 *out)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
#ifdef FIXED
    const float mask = bits[i / 64] >> i % 64 & 1 ? 1 : 0;
#else
    const float mask = floats[i]; // planted: hbm_bandwidth
#endif
    out[i] = (_Float16)((float)gradient[i] * mask * (1 / 0.9f));
}

int main()
{
    _Float16 *gradient, *out;
    float *floats;
    uint64_t *bits;
    CHECK(hipMalloc(&gradient, sizeof(_Float16) * N));
    CHECK(hipMalloc(&out, sizeof(_Float16) * N));
    CHECK(hipMalloc(&floats, sizeof(float) * N));
    CHECK(hipMalloc(&bits, N / 8));
    fill<<<GROUPS, THREADS>>>(gradient, floats, bits);
    CHECK(hipGetLastError());
    for (int layer = 0; layer < 4; layer++) {
        backward<<<GROUPS, THREADS>>>(gradient, floats, bits, out);
        CHECK(hipGetLastError());
    }
    std::vector<_Float16> got(N);
    CHECK(hipMemcpy(got.data(), out, sizeof(_Float16) * N, hipMemcpyDeviceToHost));
    for (uint32_t i = 0; i < N; i += 31) {
        const float want = kept(i) ? gradient_of(i) / 0.9f : 0;
        if (!(fabsf((float)got[i] - want) < 1e-2f)) {
            fprintf(stderr, "value %u: %g, not %g\n", i, (float)got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(gradient));
    CHECK(hipFree(out));
    CHECK(hipFree(floats));
    CHECK(hipFree(bits));
    puts("ok");
    return 0;
}
