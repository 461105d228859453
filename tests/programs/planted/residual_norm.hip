// residual_norm: a sum over 6 million values is left to 16 workgroups, so 288 of 304 compute units stand idle. The fix starts 1216 workgroups.
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

enum { THREADS = 256 };
#ifdef FIXED
enum { GROUPS = 1216 };
#else
enum { GROUPS = 16 }; // "a few blocks are enough, each thread loops"
#endif

__host__ __device__ inline float entry(uint32_t i)
{
    return (float)(i % 1021) / 1021 - 0.5f;
}

__global__ void start_vectors(float *b, float *ax, uint32_t n)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        b[i] = entry(i);
        ax[i] = entry(i + 12345);
    }
}

// Each workgroup's part of |b - A x|^2.
__global__ void __launch_bounds__(THREADS)
    squared_residual(const float *b, const float *ax, double *partial, uint32_t n)
{
    __shared__ float wave_sum[THREADS / 64];
    float sum = 0;
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        const float r = b[i] - ax[i];
        sum += r * r;
    }
    for (int distance = 32; distance > 0; distance /= 2)
        sum += __shfl_xor(sum, distance);
    if (threadIdx.x % 64 == 0)
        wave_sum[threadIdx.x / 64] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        partial[blockIdx.x] = (double)wave_sum[0] + wave_sum[1] + wave_sum[2] + wave_sum[3];
}

int main()
{
    const uint32_t n = 6 << 20;
    float *b, *ax;
    double *partial;
    CHECK(hipMalloc(&b, n * sizeof(float)));
    CHECK(hipMalloc(&ax, n * sizeof(float)));
    CHECK(hipMalloc(&partial, GROUPS * sizeof(double)));
    start_vectors<<<n / 256, 256>>>(b, ax, n);
    CHECK(hipGetLastError());
    double want = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double r = entry(i) - entry(i + 12345);
        want += r * r;
    }
    for (int iteration = 0; iteration < 3; iteration++) {
        squared_residual<<<GROUPS, THREADS>>>(b, ax, partial, n); // planted: small_grid
        CHECK(hipGetLastError());
        std::vector<double> parts(GROUPS);
        CHECK(hipMemcpy(parts.data(), partial, GROUPS * sizeof(double), hipMemcpyDeviceToHost));
        double got = 0;
        for (double part : parts)
            got += part;
        if (!(fabs(got - want) < 1e-4 * want)) {
            fprintf(stderr, "iteration %d: %g, not %g\n", iteration, got, want);
            return 1;
        }
    }
    CHECK(hipFree(b));
    CHECK(hipFree(ax));
    CHECK(hipFree(partial));
    puts("ok");
    return 0;
}
