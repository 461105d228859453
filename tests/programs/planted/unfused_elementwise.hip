// unfused_elementwise: an eager graph of five element-wise operations makes five passes over an
// array in memory. The fix does all of them in one pass, on values in registers.
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

enum Operation { SCALE, CLAMP, SQUARE, SHIFT, HALVE, OPERATIONS };

__host__ __device__ inline float apply(int operation, float x)
{
    switch (operation) {
    case SCALE:
        return 2.0f * x;
    case CLAMP:
        return fminf(fmaxf(x, -100.0f), 100.0f);
    case SQUARE:
        return x * x;
    case SHIFT:
        return x - 300.0f;
    default:
        return 0.5f * x;
    }
}

// Does the operations from FIRST to LAST to each element of x.
template <int FIRST, int LAST> __global__ __launch_bounds__(256) void elementwise(float4 *x)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = x[i]; // planted: hbm_bandwidth
#pragma unroll
    for (int operation = FIRST; operation <= LAST; operation++)
        v = make_float4(apply(operation, v.x), apply(operation, v.y), apply(operation, v.z),
                        apply(operation, v.w));
    x[i] = v;
}

int main()
{
    const size_t n = 16u << 20;
    const int groups = (int)(n / 4 / 256);
    std::vector<float> x(n), result(n);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((int)(i % 251) - 125);
    float4 *dx;
    CHECK(hipMalloc(&dx, n * sizeof(float)));
    CHECK(hipMemcpy(dx, x.data(), n * sizeof(float), hipMemcpyHostToDevice));
#ifdef FIXED
    elementwise<SCALE, HALVE><<<groups, 256>>>(dx);
#else
    elementwise<SCALE, SCALE><<<groups, 256>>>(dx);
    elementwise<CLAMP, CLAMP><<<groups, 256>>>(dx);
    elementwise<SQUARE, SQUARE><<<groups, 256>>>(dx);
    elementwise<SHIFT, SHIFT><<<groups, 256>>>(dx);
    elementwise<HALVE, HALVE><<<groups, 256>>>(dx);
#endif
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(result.data(), dx, n * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(hipFree(dx));
    for (size_t i = 0; i < n; i += 3) {
        float want = x[i];
        for (int operation = SCALE; operation < OPERATIONS; operation++)
            want = apply(operation, want);
        if (result[i] != want) {
            std::fprintf(stderr, "x[%zu]: %g, not %g\n", i, result[i], want);
            return 1;
        }
    }
    std::puts("ok");
    return 0;
}
