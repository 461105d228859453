// lag_correlation: a workgroup adds up a whole record for its lag, so 40 lags occupy 40 of the 304
// compute units. The fix cuts the record into 64 segments, each with a workgroup and an atomic add.
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

enum { LAGS = 40, SAMPLES = 512 * 1024, THREADS = 512, LANES = 64 };

#ifdef FIXED
enum { SEGMENTS = 64 };
#else
enum { SEGMENTS = 1 };
#endif

__host__ __device__ inline int16_t noise(uint32_t station, uint32_t time)
{
    uint32_t bits = (time + station * 7777) * 2654435761u;
    bits ^= bits >> 15;
    return (int16_t)(bits % 61) - 30;
}

// Correlates the ambient noise of two seismic stations, of which one hears it a few samples later.
__global__ void __launch_bounds__(THREADS)
    correlate(const int16_t *near, const int16_t *far, unsigned long long *sums)
{
    __shared__ int partial[THREADS / LANES];
    const int lag = blockIdx.x, first = blockIdx.y * (SAMPLES / SEGMENTS);
    int sum = 0;
    for (int i = first + threadIdx.x; i < first + SAMPLES / SEGMENTS; i += THREADS)
        sum += near[i] * far[i + lag];
    for (int reach = LANES / 2; reach; reach /= 2)
        sum += __shfl_xor(sum, reach);
    if (threadIdx.x % LANES == 0)
        partial[threadIdx.x / LANES] = sum;
    __syncthreads();
    if (threadIdx.x)
        return;
    long long total = 0;
    for (int wave = 0; wave < THREADS / LANES; wave++)
        total += partial[wave];
    atomicAdd(&sums[lag], (unsigned long long)total);
}

int main()
{
    std::vector<int16_t> near(SAMPLES), far(SAMPLES + LAGS);
    for (int i = 0; i < SAMPLES; i++)
        near[i] = noise(0, i);
    for (int i = 0; i < SAMPLES + LAGS; i++)
        far[i] = (int16_t)(noise(1, i) / 2 + (i >= 17 ? noise(0, i - 17) : 0));
    int16_t *near_in, *far_in;
    unsigned long long *sums;
    CHECK(hipMalloc(&near_in, near.size() * sizeof(int16_t)));
    CHECK(hipMalloc(&far_in, far.size() * sizeof(int16_t)));
    CHECK(hipMalloc(&sums, LAGS * sizeof(*sums)));
    CHECK(hipMemcpy(near_in, near.data(), near.size() * sizeof(int16_t), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(far_in, far.data(), far.size() * sizeof(int16_t), hipMemcpyHostToDevice));
    CHECK(hipMemset(sums, 0, LAGS * sizeof(*sums)));
    correlate<<<dim3(LAGS, SEGMENTS), THREADS>>>(near_in, far_in, sums); // planted: small_grid
    CHECK(hipGetLastError());
    std::vector<long long> got(LAGS);
    CHECK(hipMemcpy(got.data(), sums, LAGS * sizeof(*sums), hipMemcpyDeviceToHost));
    for (int lag = 0; lag < LAGS; lag++) {
        long long want = 0;
        for (int i = 0; i < SAMPLES; i++)
            want += near[i] * far[i + lag];
        if (got[lag] != want) {
            fprintf(stderr, "lag %d: %lld, not %lld\n", lag, got[lag], want);
            return 1;
        }
    }
    CHECK(hipFree(near_in));
    CHECK(hipFree(far_in));
    CHECK(hipFree(sums));
    puts("ok");
    return 0;
}
