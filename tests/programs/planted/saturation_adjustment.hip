// saturation_adjustment: one cell of air in twelve is saturated, and its wave runs the long iteration with few lanes. The fix collects the saturated cells of a workgroup in LDS and then runs the iteration with full waves.
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

enum { THREADS = 256, CELLS_PER_GROUP = 2048, HALVINGS = 24 };

// Water vapour that air of a temperature holds, g/kg.
__host__ __device__ inline float saturated(float celsius)
{
    return 3.8f * expf(17.3f * celsius / (celsius + 237.3f));
}

// How much vapour condenses, by halving: what condenses warms the air.
__host__ __device__ inline float condense(float celsius, float vapour)
{
    float low = 0, high = vapour;
    for (int i = 0; i < HALVINGS; i++) {
        const float half = 0.5f * (low + high);
        if (vapour - half > saturated(celsius + 2.5f * half))
            low = half;
        else
            high = half;
    }
    return low;
}

__host__ __device__ inline void cell(uint32_t i, float *celsius, float *vapour)
{
    uint32_t h = (i ^ i >> 15) * 0x846ca68bu;
    h = (h ^ h >> 13) * 0x7feb352du;
    *celsius = (float)(h >> 24) / 10;
    *vapour = saturated(*celsius) * ((h >> 8 & 0xff) < 21 ? 1.2f : 0.7f);
}

__global__ void weather(float *celsius, float *vapour)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    cell(i, celsius + i, vapour + i);
}

__global__ void __launch_bounds__(THREADS)
    adjust(const float *celsius, const float *vapour, float *rain)
{
    const int first = blockIdx.x * CELLS_PER_GROUP;
#ifdef FIXED
    __shared__ int count, wet[CELLS_PER_GROUP];
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    for (int i = first + threadIdx.x; i < first + CELLS_PER_GROUP; i += THREADS)
        if (vapour[i] > saturated(celsius[i]))
            wet[atomicAdd(&count, 1)] = i;
        else
            rain[i] = 0;
    __syncthreads();
    for (int j = threadIdx.x; j < count; j += THREADS)
        rain[wet[j]] = condense(celsius[wet[j]], vapour[wet[j]]);
#else
    for (int i = first + threadIdx.x; i < first + CELLS_PER_GROUP; i += THREADS) {
        float sum = 0;
        if (vapour[i] > saturated(celsius[i])) // planted: divergence
            sum = condense(celsius[i], vapour[i]);
        rain[i] = sum;
    }
#endif
}

int main()
{
    const uint32_t n = 608 * CELLS_PER_GROUP;
    float *celsius, *vapour, *rain;
    CHECK(hipMalloc(&celsius, n * sizeof(float)));
    CHECK(hipMalloc(&vapour, n * sizeof(float)));
    CHECK(hipMalloc(&rain, n * sizeof(float)));
    weather<<<n / 256, 256>>>(celsius, vapour);
    CHECK(hipGetLastError());
    adjust<<<n / CELLS_PER_GROUP, THREADS>>>(celsius, vapour, rain);
    CHECK(hipGetLastError());
    std::vector<float> got(n);
    CHECK(hipMemcpy(got.data(), rain, n * sizeof(float), hipMemcpyDeviceToHost));
    uint32_t saturated_cells = 0;
    for (uint32_t i = 0; i < n; i++) {
        float t, v;
        cell(i, &t, &v);
        const bool wet = v > saturated(t);
        const float want = wet ? condense(t, v) : 0;
        saturated_cells += wet;
        if (!(fabsf(got[i] - want) < 1e-3f)) {
            fprintf(stderr, "cell %u: %g, not %g\n", i, got[i], want);
            return 1;
        }
    }
    if (saturated_cells < n / 20 || saturated_cells > n / 8) {
        fprintf(stderr, "%u of %u cells are saturated\n", saturated_cells, n);
        return 1;
    }
    CHECK(hipFree(celsius));
    CHECK(hipFree(vapour));
    CHECK(hipFree(rain));
    puts("ok");
    return 0;
}
