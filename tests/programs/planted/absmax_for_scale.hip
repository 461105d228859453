// absmax_for_scale: to choose the scale of a quantization, every element takes its maximum to one
// word of global memory. The fix takes the maximum of 16 elements in registers and of the wave by
// shuffles, then one atomic.
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
enum { RUN = 16 };
#else
enum { RUN = 1 };
#endif
enum { THREADS = 256, N = 16 * THREADS * 608 };

__host__ __device__ inline int weight_of(uint32_t i)
{
    return (int)(i * 2654435761u) >> 8;
}

__global__ void fill(int *weights)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    weights[i] = weight_of(i);
}

// Weights in fixed point.
__global__ void __launch_bounds__(THREADS) absmax(const int *weights, int *most)
{
    const size_t first = (size_t)blockIdx.x * THREADS * RUN + threadIdx.x;
#ifdef FIXED
    int m = 0;
    for (int r = 0; r < RUN; r++)
        m = max(m, abs(weights[first + r * THREADS]));
    for (int lane = 32; lane; lane /= 2)
        m = max(m, __shfl_xor(m, lane));
    if (threadIdx.x % 64 == 0)
        atomicMax(most, m);
#else
    atomicMax(most, abs(weights[first])); // planted: atomic_contention
#endif
}

int main()
{
    int *weights, *most, got = 0, want = 0;
    CHECK(hipMalloc(&weights, sizeof(int) * N));
    CHECK(hipMalloc(&most, sizeof(int)));
    CHECK(hipMemset(most, 0, sizeof(int)));
    fill<<<N / THREADS, THREADS>>>(weights);
    CHECK(hipGetLastError());
    absmax<<<N / THREADS / RUN, THREADS>>>(weights, most);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(&got, most, sizeof(int), hipMemcpyDeviceToHost));
    for (uint32_t i = 0; i < N; i++)
        want = abs(weight_of(i)) > want ? abs(weight_of(i)) : want;
    if (got != want) {
        fprintf(stderr, "the maximum is %d, not %d\n", got, want);
        return 1;
    }
    CHECK(hipFree(weights));
    CHECK(hipFree(most));
    puts("ok");
    return 0;
}
