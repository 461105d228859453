// batched_linear_per_sample: each group applies a layer to one sample and so reads the whole matrix
// from L2 for itself. The fix uses each weight that is loaded for eight samples.
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

const int inputs = 512, outputs = 512;
#ifdef FIXED
const int samples = 8;
#else
const int samples = 1;
#endif

// y = x * W for the samples of a batch. A group makes all outputs of its samples: a thread four
// outputs, of half of the inputs.
__global__ __launch_bounds__(256) void linear(const float4 *__restrict__ weight,
                                              const float *__restrict__ x, float4 *__restrict__ y)
{
    int column = threadIdx.x % 128, half = threadIdx.x / 128;
    __shared__ float input[samples][inputs];
    __shared__ float4 part[samples][128];
    for (int i = threadIdx.x; i < samples * inputs; i += 256)
        input[i / inputs][i % inputs] = x[(size_t)blockIdx.x * samples * inputs + i];
    __syncthreads();
    float4 sum[samples] = {};
    const float4 *p = weight + half * (inputs / 2) * 128 + column;
#pragma unroll 8
    for (int k = 0; k < inputs / 2; k++) {
        float4 w = p[k * 128]; // planted: l2_bandwidth
#pragma unroll
        for (int s = 0; s < samples; s++) {
            float v = input[s][half * (inputs / 2) + k];
            sum[s].x += v * w.x;
            sum[s].y += v * w.y;
            sum[s].z += v * w.z;
            sum[s].w += v * w.w;
        }
    }
    if (half == 1)
        for (int s = 0; s < samples; s++)
            part[s][column] = sum[s];
    __syncthreads();
    if (half == 0)
        for (int s = 0; s < samples; s++)
            y[((size_t)blockIdx.x * samples + s) * 128 + column] = sum[s] + part[s][column];
}

int main()
{
    const int batch = 304 * 8;
    std::vector<float> weight(inputs * outputs), x((size_t)batch * inputs),
        y((size_t)batch * outputs);
    for (size_t i = 0; i < weight.size(); i++)
        weight[i] = (float)((int)(i * 29 % 31) - 15);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = (float)((int)(i * 11 % 23) - 11);
    float4 *dweight, *dy;
    float *dx;
    CHECK(hipMalloc(&dweight, weight.size() * sizeof(float)));
    CHECK(hipMalloc(&dx, x.size() * sizeof(float)));
    CHECK(hipMalloc(&dy, y.size() * sizeof(float)));
    CHECK(hipMemcpy(dweight, weight.data(), weight.size() * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dx, x.data(), x.size() * sizeof(float), hipMemcpyHostToDevice));
    linear<<<batch / samples, 256>>>(dweight, dx, dy);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(y.data(), dy, y.size() * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(hipFree(dweight));
    CHECK(hipFree(dx));
    CHECK(hipFree(dy));
    for (size_t i = 0; i < y.size(); i += 331) {
        float want = 0;
        for (int k = 0; k < inputs; k++)
            want += x[i / outputs * inputs + k] * weight[k * outputs + i % outputs];
        if (y[i] != want) {
            std::fprintf(stderr, "y[%zu]: %g, not %g\n", i, y[i], want);
            return 1;
        }
    }
    std::puts("ok");
    return 0;
}
