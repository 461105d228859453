// probes_of_field: after each step the whole field of 16 MB is copied to the host, which looks at
// 64 probes of it. The fix gathers the probes in a kernel and copies 256 bytes.
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

enum { SIDE = 2048, N = SIDE * SIDE, PROBES = 64, STEPS = 4, THREADS = 256 };

__host__ __device__ inline float start_of(uint32_t i)
{
    return (float)(i * 7 % 97);
}

__host__ __device__ inline uint32_t place_of(uint32_t probe)
{
    return probe * 65521u % N;
}

__global__ void fill(float *field)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    field[i] = start_of(i);
}

__global__ void decay(float *field)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    field[i] *= 0.5f;
}

__global__ void gather(const float *field, float *probes)
{
    probes[threadIdx.x] = field[place_of(threadIdx.x)];
}

int main()
{
    float *field, *probes, *host, sums[STEPS] = {};
    CHECK(hipMalloc(&field, sizeof(float) * N));
    CHECK(hipMalloc(&probes, sizeof(float) * PROBES));
    CHECK(hipHostMalloc((void **)&host, sizeof(float) * N, 0));
    fill<<<N / THREADS, THREADS>>>(field);
    CHECK(hipGetLastError());
    for (int step = 0; step < STEPS; step++) {
        decay<<<N / THREADS, THREADS>>>(field);
        CHECK(hipGetLastError());
#ifdef FIXED
        gather<<<1, PROBES>>>(field, probes);
        CHECK(hipGetLastError());
        CHECK(hipMemcpy(host, probes, sizeof(float) * PROBES, hipMemcpyDeviceToHost));
        for (int p = 0; p < PROBES; p++)
            sums[step] += host[p];
#else
        const size_t bytes = sizeof(float) * N;
        CHECK(hipMemcpy(host, field, bytes, hipMemcpyDeviceToHost)); // planted: copy_bound
        for (int p = 0; p < PROBES; p++)
            sums[step] += host[place_of(p)];
#endif
    }
    float want = 0;
    for (int p = 0; p < PROBES; p++)
        want += start_of(place_of(p));
    for (int step = 0; step < STEPS; step++) {
        want *= 0.5f;
        if (!(fabsf(sums[step] - want) < 1e-3f * want)) {
            fprintf(stderr, "step %d: %g, not %g\n", step, sums[step], want);
            return 1;
        }
    }
    CHECK(hipFree(field));
    CHECK(hipFree(probes));
    CHECK(hipHostFree(host));
    puts("ok");
    return 0;
}
