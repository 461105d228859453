// Three kernels, for optimize-rounds.sh. What `most` takes falls below what `next` takes when it is
// unrolled. `both` is called with long and with short loops, in grids of its own each: unrolling
// helps the ones and hurts the others.
#include <cstdio>
#include <hip/hip_runtime.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != hipSuccess) {                                                                \
            fprintf(stderr, "%s failed\n", #call);                                                 \
            return 2;                                                                              \
        }                                                                                          \
    } while (0)

__global__ void most(const float *in, float *out, int n)
{
    float total = 0;
    for (int i = 0; i < n; i++)
        total += in[i * 256 + threadIdx.x];
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

__global__ void next(const float *in, float *out, int n)
{
    float total = 1;
    for (int i = 0; i < n; i++)
        total -= in[i * 256 + threadIdx.x];
    out[2048 + blockIdx.x * blockDim.x + threadIdx.x] = total;
}

__global__ void both(const float *in, float *out, int n)
{
    float total = 2;
    for (int i = 0; i < n; i++)
        total += in[i * 256 + threadIdx.x];
    out[4096 + blockIdx.x * blockDim.x + threadIdx.x] = total;
}

int main()
{
    constexpr int n = 256;
    std::vector<float> host(256 * n), result(6144);
    float *in, *out;

    for (size_t i = 0; i < host.size(); i++)
        host[i] = 0.25f * (float)(i % 31);
    CHECK(hipMalloc(&in, host.size() * sizeof(float)));
    CHECK(hipMalloc(&out, result.size() * sizeof(float)));
    CHECK(hipMemcpy(in, host.data(), host.size() * sizeof(float), hipMemcpyHostToDevice));
    for (int i = 0; i < 6; i++)
        most<<<8, 256>>>(in, out, n);
    for (int i = 0; i < 5; i++)
        next<<<8, 256>>>(in, out, n);
    both<<<4, 256>>>(in, out, n / 2);
    both<<<8, 256>>>(in, out, 3);
    CHECK(hipMemcpy(result.data(), out, result.size() * sizeof(float), hipMemcpyDeviceToHost));
    for (size_t i = 0; i < result.size(); i += 511)
        printf("%g\n", result[i]);
    return 0;
}
