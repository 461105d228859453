// gamma_cdf: the series of neighbouring lanes have anything from ten to two hundred terms, and a wave runs as long as its longest. The fix sorts the arguments, so that the lanes of a wave need much the same number.
#include <algorithm>
#include <cmath>
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

// The regularised lower incomplete gamma function P(a, x) times gamma(a + 1), by its series.
__host__ __device__ inline float series(float a, float x)
{
    float term = 1, sum = 1;
    for (float n = a + 1; term > 1e-7f * sum; n += 1) // planted: divergence
        term *= x / n, sum += term;
    return expf(a * logf(x) - x) * sum;
}

__global__ void gamma_cdf(const float *x, float *p, float a, float scale, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = series(a, x[i]) * scale;
}

int main()
{
    const int n = 160 * 1024;
    const float a = 2.5f, scale = 1 / tgammaf(a + 1);
    std::vector<float> x(n), got(n);
    for (int i = 0; i < n; i++) {
        // Squared distances of events from a shower's axis: most are small, a few large.
        const uint32_t h = (uint32_t)i * 2654435761u;
        const float u = (float)((h ^ h >> 15) & 0xffff) / 65536;
        x[i] = 0.5f - 14 * logf(1 - 0.998f * u);
    }
#ifdef FIXED
    std::sort(x.begin(), x.end());
#endif
    float *dx, *dp;
    CHECK(hipMalloc(&dx, n * sizeof(float)));
    CHECK(hipMalloc(&dp, n * sizeof(float)));
    CHECK(hipMemcpy(dx, x.data(), n * sizeof(float), hipMemcpyHostToDevice));
    for (int run = 0; run < 2; run++) {
        gamma_cdf<<<n / 256, 256>>>(dx, dp, a, scale, n);
        CHECK(hipGetLastError());
    }
    CHECK(hipMemcpy(got.data(), dp, n * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        const float want = series(a, x[i]) * scale;
        if (!(fabsf(got[i] - want) < 1e-3f)) {
            fprintf(stderr, "P(%g, %g): %g, not %g\n", a, x[i], got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(dx));
    CHECK(hipFree(dp));
    puts("ok");
    return 0;
}
