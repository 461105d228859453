// heat_rods: 16 rods of 64 points share a workgroup, which meets at two barriers in every time step
// although each rod belongs to one wave. The fix passes neighbours by shuffles within the wave and
// needs no barrier.
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

enum { POINTS = 64, RODS = 16, THREADS = POINTS * RODS, GROUPS = 608, STEPS = 40 };

__host__ __device__ inline float start_of(uint32_t rod, uint32_t point)
{
    return (float)((rod * 11 + point * point * 3) % 64);
}

__global__ void __launch_bounds__(THREADS) heat(float *out)
{
    const int point = threadIdx.x % POINTS;
    const uint32_t rod = blockIdx.x * RODS + threadIdx.x / POINTS;
    float t = start_of(rod, point);
#ifdef FIXED
    for (int step = 0; step < STEPS; step++) {
        const float left = __shfl(t, point ? point - 1 : 0);
        const float right = __shfl(t, point < POINTS - 1 ? point + 1 : POINTS - 1);
        t += 0.25f * (left - 2 * t + right);
    }
#else
    __shared__ float rods[THREADS];
    const int first = threadIdx.x - point;
    const int at_left = first + (point ? point - 1 : 0);
    const int at_right = first + (point < POINTS - 1 ? point + 1 : POINTS - 1);
    for (int step = 0; step < STEPS; step++) {
        rods[threadIdx.x] = t;
        __syncthreads();
        const float left = rods[at_left], right = rods[at_right];
        t += 0.25f * (left - 2 * t + right);
        __syncthreads(); // planted: barrier
    }
#endif
    out[(size_t)blockIdx.x * THREADS + threadIdx.x] = t;
}

int main()
{
    const int n = THREADS * GROUPS;
    float *out;
    CHECK(hipMalloc(&out, sizeof(float) * n));
    heat<<<GROUPS, THREADS>>>(out);
    CHECK(hipGetLastError());
    std::vector<float> got(n);
    CHECK(hipMemcpy(got.data(), out, sizeof(float) * n, hipMemcpyDeviceToHost));
    for (int rod = 0; rod < n / POINTS; rod += 37) {
        float t[POINTS], old[POINTS];
        for (int i = 0; i < POINTS; i++)
            t[i] = start_of(rod, i);
        for (int step = 0; step < STEPS; step++) {
            for (int i = 0; i < POINTS; i++)
                old[i] = t[i];
            for (int i = 0; i < POINTS; i++)
                t[i] += 0.25f * (old[i ? i - 1 : 0] - 2 * old[i] +
                                 old[i < POINTS - 1 ? i + 1 : POINTS - 1]);
        }
        for (int i = 0; i < POINTS; i++)
            if (!(fabsf(got[rod * POINTS + i] - t[i]) < 1e-2f)) {
                fprintf(stderr, "rod %d, point %d: %g, not %g\n", rod, i, got[rod * POINTS + i],
                        t[i]);
                return 1;
            }
    }
    CHECK(hipFree(out));
    puts("ok");
    return 0;
}
