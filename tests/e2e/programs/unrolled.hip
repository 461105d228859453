// unrolled N: sums of N numbers each, for optimize.sh. With many, unrolling by 2 to 8 saves the
// loop's own instructions; with three, what unrolling adds before and after the loop costs more.
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != hipSuccess) {                                                                \
            fprintf(stderr, "%s failed\n", #call);                                                 \
            return 2;                                                                              \
        }                                                                                          \
    } while (0)

__global__ void column_sums(const float *in, float *out, int n)
{
    float total = 0;
    for (int i = 0; i < n; i++)
        total += in[i * 256 + threadIdx.x];
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 256;
    std::vector<float> host(256 * (size_t)n), result(2048);
    float *in, *out;

    for (size_t i = 0; i < host.size(); i++)
        host[i] = 0.25f * (float)(i % 31);
    CHECK(hipMalloc(&in, host.size() * sizeof(float)));
    CHECK(hipMalloc(&out, result.size() * sizeof(float)));
    CHECK(hipMemcpy(in, host.data(), host.size() * sizeof(float), hipMemcpyHostToDevice));
    for (int i = 0; i < 3; i++)
        column_sums<<<8, 256>>>(in, out, n);
    column_sums<<<4, 256>>>(in, out, n);
    CHECK(hipMemcpy(result.data(), out, result.size() * sizeof(float), hipMemcpyDeviceToHost));
    for (size_t i = 0; i < result.size(); i += 511)
        printf("%g\n", result[i]);
    return 0;
}
