// pairwise_divergence: the Kullback-Leibler divergences of all pairs of histograms take a
// logarithm for each bin of each pair. The fix takes the logarithms once, as the bins come into
// LDS.
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

const int bins = 32, tile = 64;

// d[i][j] = sum over the bins of p_i * (log p_i - log p_j). A group makes 64 x 64 pairs: a lane
// has one j, a wave sixteen i, whose bins all lanes of the wave read at once. The hardware's
// logarithm is to base 2.
__global__ __launch_bounds__(256) void divergence(const float *__restrict__ p,
                                                  float *__restrict__ d, int n)
{
    __shared__ float first[bins][tile + 4], second[bins][tile + 4];
#ifdef FIXED
    __shared__ float log_first[bins][tile + 4];
#endif
    int i0 = blockIdx.y * tile, j0 = blockIdx.x * tile;
    for (int t = threadIdx.x; t < tile * bins; t += 256) {
        float a = p[(size_t)i0 * bins + t], b = p[(size_t)j0 * bins + t];
        first[t % bins][t / bins] = a;
#ifdef FIXED
        log_first[t % bins][t / bins] = __builtin_amdgcn_logf(a);
#endif
        second[t % bins][t / bins] = __builtin_amdgcn_logf(b);
    }
    __syncthreads();
    int lane = threadIdx.x % 64, part = threadIdx.x / 64 * 16;
    float sum[16] = {};
#pragma unroll 1
    for (int bin = 0; bin < bins; bin++) {
        float log_b = second[bin][lane];
#pragma unroll
        for (int i = 0; i < 16; i++) {
            float a = first[bin][part + i];
#ifdef FIXED
            float log_a = log_first[bin][part + i];
#else
            float log_a = __builtin_amdgcn_logf(a); // planted: transcendental_throughput
#endif
            sum[i] += a * (log_a - log_b);
        }
    }
    for (int i = 0; i < 16; i++)
        d[(size_t)(i0 + part + i) * n + j0 + lane] = 0.69314718f * sum[i];
}

int main()
{
    const int n = 1920;
    std::vector<float> p((size_t)n * bins), d((size_t)n * n);
    for (int i = 0; i < n; i++) {
        float total = 0;
        for (int bin = 0; bin < bins; bin++)
            total += p[i * bins + bin] = (float)(1 + (i * 7 + bin * (i % 13 + 1)) % 50);
        for (int bin = 0; bin < bins; bin++)
            p[i * bins + bin] /= total;
    }
    float *dp, *dd;
    CHECK(hipMalloc(&dp, p.size() * sizeof(float)));
    CHECK(hipMalloc(&dd, d.size() * sizeof(float)));
    CHECK(hipMemcpy(dp, p.data(), p.size() * sizeof(float), hipMemcpyHostToDevice));
    divergence<<<dim3(n / tile, n / tile), 256>>>(dp, dd, n);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(d.data(), dd, d.size() * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(hipFree(dp));
    CHECK(hipFree(dd));
    for (size_t at = 0; at < d.size(); at += 1777) {
        const float *a = &p[at / n * bins], *b = &p[at % n * bins];
        double want = 0;
        for (int bin = 0; bin < bins; bin++)
            want += a[bin] * (std::log((double)a[bin]) - std::log((double)b[bin]));
        if (std::fabs(d[at] - want) > 1e-4) {
            std::fprintf(stderr, "d[%zu]: %g, not %g\n", at, d[at], want);
            return 1;
        }
    }
    std::puts("ok");
    return 0;
}
