// string_step_launches: a vibrating string of 1024 points is advanced by one launch for each of
// 2000 time steps. The fix runs all steps in one launch of one group, which keeps the string in
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

const int points = 1024, steps = 2000;

__host__ __device__ inline float next(float left, float here, float right, float before)
{
    return 2 * here - before + 0.25f * (left - 2 * here + right);
}

// One time step; the ends of the string are fixed. Writes the new state over the one before.
__global__ void string_step(const float *now, float *before)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < points - 1)
        before[i] = next(now[i - 1], now[i], now[i + 1], before[i]);
}

__global__ __launch_bounds__(points) void string_steps(const float *now, float *before)
{
    __shared__ float s[2][points];
    int i = threadIdx.x;
    s[0][i] = now[i];
    float here = now[i], old = before[i];
    __syncthreads();
    for (int step = 0; step < steps; step++) {
        float fresh = here;
        if (i > 0 && i < points - 1)
            fresh = next(s[step % 2][i - 1], here, s[step % 2][i + 1], old);
        s[1 - step % 2][i] = fresh;
        old = here;
        here = fresh;
        __syncthreads();
    }
    before[i] = old;
}

int main()
{
    std::vector<float> now(points), before(points), result(points);
    for (int i = 0; i < points; i++)
        now[i] = before[i] = (float)std::sin(M_PI * i / (points - 1)) + (float)(i % 16 == 8);
    now[0] = before[0] = now[points - 1] = before[points - 1] = 0;
    float *d[2];
    for (int i = 0; i < 2; i++)
        CHECK(hipMalloc(&d[i], points * sizeof(float)));
    CHECK(hipMemcpy(d[0], now.data(), points * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(d[1], before.data(), points * sizeof(float), hipMemcpyHostToDevice));
#ifdef FIXED
    string_steps<<<1, points>>>(d[0], d[1]);
    CHECK(hipGetLastError());
    // What came before the last step is checked, which is in the other array of the two.
    CHECK(hipMemcpy(result.data(), d[1], points * sizeof(float), hipMemcpyDeviceToHost));
#else
    for (int step = 0; step < steps; step++) {
        float *from = d[step % 2], *to = d[1 - step % 2];
        string_step<<<points / 256, 256>>>(from, to); // planted: launch_overhead
        CHECK(hipGetLastError());
    }
    CHECK(hipMemcpy(result.data(), d[1], points * sizeof(float), hipMemcpyDeviceToHost));
#endif
    for (int i = 0; i < 2; i++)
        CHECK(hipFree(d[i]));
    for (int step = 0; step < steps; step++) {
        for (int i = 1; i < points - 1; i++)
            before[i] = next(now[i - 1], now[i], now[i + 1], before[i]);
        now.swap(before);
    }
    for (int i = 0; i < points; i++)
        if (std::fabs(result[i] - before[i]) > 1e-2f) {
            std::fprintf(stderr, "point %d: %g, not %g\n", i, result[i], before[i]);
            return 1;
        }
    std::puts("ok");
    return 0;
}
