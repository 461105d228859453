// gram_schmidt: each dot product of a workgroup of 1024 is a tree in LDS with a barrier after each of its ten levels. The fix adds within waves by shuffles and meets at two barriers.
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

enum { LENGTH = 1024, VECTORS = 6, WAVES = LENGTH / 64 };

// The sum of x over the workgroup, for all its threads.
__device__ inline float group_sum(float x, float *lds)
{
#ifdef FIXED
    for (int distance = 32; distance > 0; distance /= 2)
        x += __shfl_xor(x, distance);
    if (threadIdx.x % 64 == 0)
        lds[threadIdx.x / 64] = x;
    __syncthreads();
    x = lds[threadIdx.x % WAVES];
    for (int distance = WAVES / 2; distance > 0; distance /= 2)
        x += __shfl_xor(x, distance);
    __syncthreads();
    return x;
#else
    lds[threadIdx.x] = x;
    for (int half = LENGTH / 2; half > 0; half /= 2) {
        __syncthreads(); // planted: barrier
        if ((int)threadIdx.x < half)
            lds[threadIdx.x] += lds[threadIdx.x + half];
    }
    __syncthreads();
    x = lds[0];
    __syncthreads();
    return x;
#endif
}

// Makes the vectors of a block of a Krylov space orthonormal; a thread keeps one element of each.
__global__ void __launch_bounds__(LENGTH) orthonormalise(const float *in, float *out)
{
    __shared__ float lds[LENGTH];
    in += (size_t)blockIdx.x * VECTORS * LENGTH + threadIdx.x;
    out += (size_t)blockIdx.x * VECTORS * LENGTH + threadIdx.x;
    float v[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        v[i] = in[i * LENGTH];
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        v[i] *= rsqrtf(group_sum(v[i] * v[i], lds));
#pragma unroll
        for (int j = i + 1; j < VECTORS; j++)
            v[j] -= group_sum(v[i] * v[j], lds) * v[i];
        out[i * LENGTH] = v[i];
    }
}

int main()
{
    const int blocks = 608;
    const size_t n = (size_t)blocks * VECTORS * LENGTH;
    std::vector<float> in(n), got(n);
    uint32_t seed = 7;
    for (float &x : in) {
        seed = seed * 1664525u + 1013904223u;
        x = (float)(seed >> 16) / 32768 - 0.9f;
    }
    float *a, *b;
    CHECK(hipMalloc(&a, n * sizeof(float)));
    CHECK(hipMalloc(&b, n * sizeof(float)));
    CHECK(hipMemcpy(a, in.data(), n * sizeof(float), hipMemcpyHostToDevice));
    orthonormalise<<<blocks, LENGTH>>>(a, b);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), b, n * sizeof(float), hipMemcpyDeviceToHost));
    for (size_t first = 0; first < n; first += VECTORS * LENGTH) {
        float *v = &in[first];
        for (int i = 0; i < VECTORS; i++) {
            for (int j = 0; j <= i; j++) { // j == i: the norm
                double dot = 0;
                for (int e = 0; e < LENGTH; e++)
                    dot += (double)v[i * LENGTH + e] * v[j * LENGTH + e];
                for (int e = 0; e < LENGTH; e++)
                    v[i * LENGTH + e] = j < i ? v[i * LENGTH + e] - (float)dot * v[j * LENGTH + e]
                                              : v[i * LENGTH + e] / (float)sqrt(dot);
            }
            for (int e = 0; e < LENGTH; e++)
                if (!(fabsf(got[first + i * LENGTH + e] - v[i * LENGTH + e]) < 1e-4f)) {
                    fprintf(stderr, "vector %d, element %d: %g, not %g\n", i, e,
                            got[first + i * LENGTH + e], v[i * LENGTH + e]);
                    return 1;
                }
        }
    }
    CHECK(hipFree(a));
    CHECK(hipFree(b));
    puts("ok");
    return 0;
}
