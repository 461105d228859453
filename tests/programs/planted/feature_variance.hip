// feature_variance: a workgroup takes one feature of a table of samples and reads down its column,
// so the lanes of a load are a row apart. The fix gives a workgroup 64 features, whose values in a
// row are neighbours.
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

enum { FEATURES = 19456, SAMPLES = 256, WAVES = 4, THREADS = 64 * WAVES };

__host__ __device__ inline float value_of(uint32_t sample, uint32_t feature)
{
    return (float)((sample * 29 + feature * 13) % 101) / 64;
}

__global__ void fill(float *table)
{
    for (int f = threadIdx.x; f < FEATURES; f += blockDim.x)
        table[(size_t)blockIdx.x * FEATURES + f] = value_of(blockIdx.x, f);
}

__global__ void __launch_bounds__(THREADS) variance(const float *table, float *out)
{
    __shared__ float sums[THREADS], squares[THREADS];
    float sum = 0, square = 0;
#ifdef FIXED
    const int feature = blockIdx.x * 64 + threadIdx.x % 64;
    for (int s = threadIdx.x / 64; s < SAMPLES; s += WAVES) {
        const float v = table[(size_t)s * FEATURES + feature];
#else
    const int feature = blockIdx.x;
    for (int s = threadIdx.x; s < SAMPLES; s += THREADS) {
        const float v = table[(size_t)s * FEATURES + feature]; // planted: uncoalesced_access
#endif
        sum += v;
        square += v * v;
    }
    sums[threadIdx.x] = sum;
    squares[threadIdx.x] = square;
#ifdef FIXED
    const int last = 64;
#else
    const int last = 1;
#endif
    for (int half = THREADS / 2; half >= last; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
            squares[threadIdx.x] += squares[threadIdx.x + half];
        }
    }
    if ((int)threadIdx.x < last) {
        const float mean = sums[threadIdx.x] / SAMPLES;
        out[feature] = squares[threadIdx.x] / SAMPLES - mean * mean;
    }
}

int main()
{
    float *table, *out;
    CHECK(hipMalloc(&table, sizeof(float) * SAMPLES * FEATURES));
    CHECK(hipMalloc(&out, sizeof(float) * FEATURES));
    fill<<<SAMPLES, 256>>>(table);
    CHECK(hipGetLastError());
#ifdef FIXED
    variance<<<FEATURES / 64, THREADS>>>(table, out);
#else
    variance<<<FEATURES, THREADS>>>(table, out);
#endif
    CHECK(hipGetLastError());
    std::vector<float> got(FEATURES);
    CHECK(hipMemcpy(got.data(), out, sizeof(float) * FEATURES, hipMemcpyDeviceToHost));
    for (int f = 0; f < FEATURES; f += 7) {
        double sum = 0, square = 0;
        for (int s = 0; s < SAMPLES; s++) {
            const double v = value_of(s, f);
            sum += v;
            square += v * v;
        }
        const double want = square / SAMPLES - sum / SAMPLES * sum / SAMPLES;
        if (!(fabs(got[f] - want) < 1e-4)) {
            fprintf(stderr, "feature %d: %g, not %g\n", f, got[f], want);
            return 1;
        }
    }
    CHECK(hipFree(table));
    CHECK(hipFree(out));
    puts("ok");
    return 0;
}
