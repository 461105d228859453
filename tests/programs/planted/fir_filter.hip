// fir_filter: low occupancy by LDS, as the tile of a workgroup has room for the longest filter there may be, 60 KB, where 1 KB is used. The fix asks for what this filter needs at the launch.
#include <cmath>
#include <cstddef>
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

enum { THREADS = 256, LONGEST_RADIUS = 7552 };

__host__ __device__ inline float sample(int i)
{
    return (float)(i * 37 % 4093) / 2048 - 1;
}

__global__ void record(float *signal)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    signal[i] = sample(i);
}

// out[i] = sum over j of taps[j] * in[i - radius + j], with zeros beyond the ends.
__global__ void __launch_bounds__(THREADS)
    fir(const float *in, const float *taps, float *out, int n, int radius)
{
#ifdef FIXED
    extern __shared__ float tile[];
#else
    __shared__ float tile[THREADS + 2 * LONGEST_RADIUS]; // planted: low_occupancy
#endif
    const int first = blockIdx.x * THREADS;
    for (int i = threadIdx.x; i < THREADS + 2 * radius; i += THREADS) {
        const int at = first - radius + i;
        tile[i] = at >= 0 && at < n ? in[at] : 0;
    }
    __syncthreads();
    float sum = 0;
    for (int j = 0; j <= 2 * radius; j++)
        sum += taps[j] * tile[threadIdx.x + j];
    out[first + threadIdx.x] = sum;
}

int main()
{
    const int n = 4 << 20, radius = 4;
    const float taps[2 * radius + 1] = {0.01f, 0.05f, 0.12f, 0.2f, 0.24f,
                                        0.2f,  0.12f, 0.05f, 0.01f};
    float *in, *filter, *out;
    CHECK(hipMalloc(&in, n * sizeof(float)));
    CHECK(hipMalloc(&filter, sizeof(taps)));
    CHECK(hipMalloc(&out, n * sizeof(float)));
    CHECK(hipMemcpy(filter, taps, sizeof(taps), hipMemcpyHostToDevice));
    record<<<n / 256, 256>>>(in);
    CHECK(hipGetLastError());
#ifdef FIXED
    const size_t lds = (THREADS + 2 * radius) * sizeof(float);
#else
    const size_t lds = 0;
#endif
    for (int channel = 0; channel < 2; channel++) {
        fir<<<n / THREADS, THREADS, lds>>>(in, filter, out, n, radius);
        CHECK(hipGetLastError());
    }
    std::vector<float> signal(n), got(n);
    CHECK(hipMemcpy(got.data(), out, n * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        signal[i] = sample(i);
    for (int i = 0; i < n; i++) {
        float want = 0;
        for (int j = 0; j <= 2 * radius; j++) {
            const int at = i - radius + j;
            want += at >= 0 && at < n ? taps[j] * signal[at] : 0;
        }
        if (!(fabsf(got[i] - want) < 1e-5f)) {
            fprintf(stderr, "sample %d: %g, not %g\n", i, got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(in));
    CHECK(hipFree(filter));
    CHECK(hipFree(out));
    puts("ok");
    return 0;
}
