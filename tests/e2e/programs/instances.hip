// A template of which the program runs two instances, and with UNUSED has a third one.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

template <int MODE>
__global__ void sums(const float *in, float *out, int n)
{
    float sum = 0;

#pragma nounroll
    for (int i = 0; i < n; i++) {
        const float x = in[(i * 64 + threadIdx.x) % 4096];
        sum += MODE == 1 ? x * x : x;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

#ifdef UNUSED
template __global__ void sums<2>(const float *, float *, int);
#endif

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != hipSuccess)                                                                  \
            return 1;                                                                              \
    } while (0)

int main(int argc, char **)
{
    std::vector<float> in(4096), out(512);
    float *a, *b;

    for (int i = 0; i < 4096; i++)
        in[i] = (float)(i * 7919 % 1000) / 64 + 1;
    CHECK(hipMalloc(&a, in.size() * 4));
    CHECK(hipMalloc(&b, out.size() * 4));
    CHECK(hipMemcpy(a, in.data(), in.size() * 4, hipMemcpyHostToDevice));
    sums<0><<<4, 64>>>(a, b, 400);
    sums<1><<<4, 64>>>(a, b + 256, 300);
    CHECK(hipMemcpy(out.data(), b, out.size() * 4, hipMemcpyDeviceToHost));
    printf("%g\n", out[argc]);
    return 0;
}
