// A kernel, and with -DCANDIDATE=N one that is to take its place, right or wrong in some way. The
// program launches the kernel twice with the same inputs: in a capture of the second dispatch the
// result stands where it belongs before the kernel has run.
#include <hip/hip_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define RIGHT      0
#define OTHER_WAY  1
#define NOTHING    2
#define HALF       3
#define STALE      4
#define MISNAMED   5
#define ONE_MORE   6
#define WIDER      7
#define GREEDY     8
#define SMALL      9
#define NOT_NUMBER 10
#define OUTSIDE    11
#define NEARLY     12
#define ONCE       13
#define INPUT      14
#define VARIABLE   15
#define GRID       16
#ifndef CANDIDATE
#define CANDIDATE RIGHT
#endif

#if CANDIDATE == MISNAMED
#define target target_of_another_name
#endif
#if CANDIDATE == SMALL
#define BOUNDS __launch_bounds__(128)
#else
#define BOUNDS __launch_bounds__(256)
#endif
#if CANDIDATE == WIDER
typedef double factor;
#else
typedef float factor;
#endif
#if CANDIDATE == ONE_MORE
#define MORE , const float *more
#else
#define MORE
#endif

__device__ uint32_t launches;
#if CANDIDATE == ONCE
__device__ uint32_t done;
#endif

extern "C" __global__ void BOUNDS target(float *in, float *out, uint32_t n, factor by MORE)
{
    extern __shared__ float tile[];
    const uint32_t t = threadIdx.x, i = blockIdx.x * 256 + t;

    tile[t] = i < n ? in[i] * (float)by : 0;
    __syncthreads();
    if (i >= n)
        return;
#if CANDIDATE == OTHER_WAY
    out[i] = (t ? tile[t - 1] : 0) + tile[t];
#elif CANDIDATE == NOTHING
    (void)out;
#elif CANDIDATE == HALF
    if (blockIdx.x < 10)
        out[i] = tile[t] + (t ? tile[t - 1] : 0);
#elif CANDIDATE == STALE
    out[i] = out[i] + tile[t] * 0.0f;
#elif CANDIDATE == ONE_MORE
    out[i] = tile[t] + (t ? tile[t - 1] : 0) + more[0];
#elif CANDIDATE == GREEDY
    __shared__ float mine[(65536 - 512) / 4];
    mine[i % (65024 / 4)] = tile[t];
    __syncthreads();
    out[i] = mine[i % (65024 / 4)] + (t ? tile[t - 1] : 0);
#elif CANDIDATE == NOT_NUMBER
    out[i] = i == 321 ? NAN : tile[t] + (t ? tile[t - 1] : 0);
#elif CANDIDATE == OUTSIDE
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
    if (i == n - 1)
        out[n] = 1;
#elif CANDIDATE == NEARLY
    out[i] = (tile[t] + (t ? tile[t - 1] : 0)) * 1.000001f;
#elif CANDIDATE == ONCE
    if (done < n)
        out[i] = tile[t] + (t ? tile[t - 1] : 0);
    atomicAdd(&done, 1);
#elif CANDIDATE == VARIABLE
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
    launches = 1;
#elif CANDIDATE == GRID
    out[i] = tile[t] + (t ? tile[t - 1] : 0) + (gridDim.x == 0);
#elif CANDIDATE == INPUT
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
    if (i == 0)
        in[0] += 1;
#else
    out[i] = tile[t] + (t ? tile[t - 1] : 0);
#endif
}

#if CANDIDATE == RIGHT
#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != hipSuccess) {                                                                \
            fprintf(stderr, "%d: %s\n", __LINE__, #call);                                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

int main()
{
    const uint32_t n = 4999; // of 5120 in memory
    std::vector<float> in(5120);
    float *a, *b;

    for (uint32_t i = 0; i < n; i++)
        in[i] = (float)(i * 7919 % 1000) / 64 - 7;
    in[1000] = NAN;
    in[2000] = INFINITY;
    CHECK(hipMalloc(&a, 5120 * 4));
    CHECK(hipMalloc(&b, 5120 * 4));
    CHECK(hipMemcpy(a, in.data(), 5120 * 4, hipMemcpyHostToDevice));
    CHECK(hipMemset(b, 0, 5120 * 4));
    for (int i = 0; i < 2; i++)
        target<<<20, 256, 1024>>>(a, b, n, 1.7f);
    CHECK(hipDeviceSynchronize());
    return 0;
}
#endif
