// kmeans_assign: each point is multiplied with the 32 centroids of spherical k-means that a
// workgroup keeps in LDS, and every thread reads all their words for its one point. The fix gives a
// thread four points, which share what it reads.
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

#ifdef FIXED
enum { POINTS = 4 };
#else
enum { POINTS = 1 };
#endif
enum { DIMS = 16, CENTROIDS = 32, THREADS = 256, N = THREADS * 4 * 608 };

__host__ __device__ inline float x_of(uint32_t point, uint32_t dim)
{
    return (float)((point * 37 + dim * point % 101 + dim * 5) % 128);
}

__host__ __device__ inline float centroid_of(uint32_t c, uint32_t dim)
{
    return (float)((c * 23 + dim * c * 3) % 128);
}

__global__ void __launch_bounds__(THREADS) assign(int *nearest)
{
    __shared__ float centroids[CENTROIDS * DIMS];
    for (int i = threadIdx.x; i < CENTROIDS * DIMS; i += THREADS)
        centroids[i] = centroid_of(i / DIMS, i % DIMS);
    __syncthreads();
    const int first = blockIdx.x * THREADS * POINTS + threadIdx.x;
    float x[POINTS][DIMS], most[POINTS];
    int best[POINTS] = {};
    for (int p = 0; p < POINTS; p++) {
        most[p] = -1;
        for (int d = 0; d < DIMS; d++)
            x[p][d] = x_of(first + p * THREADS, d);
    }
    for (int c = 0; c < CENTROIDS; c++) {
        float sum[POINTS] = {};
#pragma unroll
        for (int d = 0; d < DIMS; d++) {
            const float y = centroids[c * DIMS + d]; // planted: lds_bandwidth
#pragma unroll
            for (int p = 0; p < POINTS; p++)
                sum[p] += x[p][d] * y;
        }
        for (int p = 0; p < POINTS; p++)
            if (sum[p] > most[p]) {
                most[p] = sum[p];
                best[p] = c;
            }
    }
    for (int p = 0; p < POINTS; p++)
        nearest[first + p * THREADS] = best[p];
}

int main()
{
    int *nearest;
    CHECK(hipMalloc(&nearest, sizeof(int) * N));
    assign<<<N / THREADS / POINTS, THREADS>>>(nearest);
    CHECK(hipGetLastError());
    std::vector<int> got(N);
    CHECK(hipMemcpy(got.data(), nearest, sizeof(int) * N, hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i += 47) {
        int want = 0;
        float most = -1;
        for (int c = 0; c < CENTROIDS; c++) {
            float sum = 0;
            for (int d = 0; d < DIMS; d++)
                sum += x_of(i, d) * centroid_of(c, d);
            if (sum > most) {
                most = sum;
                want = c;
            }
        }
        if (got[i] != want) {
            fprintf(stderr, "point %d: centroid %d, not %d\n", i, got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(nearest));
    puts("ok");
    return 0;
}
