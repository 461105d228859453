// host_random_paths: the host draws the normal numbers of each batch of price paths before it
// launches, and the GPU waits. The fix draws them in the kernel, from the same generator.
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

const int paths = 64 * 1024, steps = 8, batches = 8;

// A normal number from a hash of its place: the sum of twelve uniform ones.
__host__ __device__ inline float normal(unsigned place)
{
    int sum = 0;
    for (unsigned i = 0; i < 6; i++) {
        unsigned x = place * 6 + i;
        x = (x ^ x >> 16) * 0x7feb352du;
        x = (x ^ x >> 15) * 0x846ca68bu;
        x ^= x >> 16;
        sum += (int)(x & 0xffff) + (int)(x >> 16);
    }
    return (float)(sum - 6 * 65535) * (1.0f / 65536);
}

__host__ __device__ inline float grow(float price, float z)
{
    return price * (1.0f + 0.01f * z);
}

// The pay-off of an Asian option on each path of a batch.
__global__ __launch_bounds__(256) void price_paths(const float *normals, float *payoff, int batch)
{
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    float price = 100, sum = 0;
    for (int step = 0; step < steps; step++) {
#ifdef FIXED
        (void)normals;
        price = grow(price, normal((unsigned)((batch * steps + step) * paths + path)));
#else
        price = grow(price, normals[step * paths + path]);
#endif
        sum += price;
    }
    payoff[(size_t)batch * paths + path] = fmaxf(sum / steps - 100, 0.0f);
}

int main()
{
    const size_t count = (size_t)steps * paths;
    std::vector<float> payoff((size_t)batches * paths);
    float *normals, *dnormals, *dpayoff;
    CHECK(hipHostMalloc((void **)&normals, count * sizeof(float)));
    CHECK(hipMalloc(&dnormals, count * sizeof(float)));
    CHECK(hipMalloc(&dpayoff, payoff.size() * sizeof(float)));
    for (int batch = 0; batch < batches; batch++) {
#ifndef FIXED
        for (size_t i = 0; i < count; i++)
            normals[i] = normal((unsigned)(batch * count + i)); // planted: host_bound
        CHECK(hipMemcpyAsync(dnormals, normals, count * sizeof(float), hipMemcpyHostToDevice, 0));
#endif
        price_paths<<<paths / 256, 256>>>(dnormals, dpayoff, batch);
        CHECK(hipGetLastError());
        CHECK(hipStreamSynchronize(0));
    }
    CHECK(hipMemcpy(payoff.data(), dpayoff, payoff.size() * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(hipHostFree(normals));
    CHECK(hipFree(dnormals));
    CHECK(hipFree(dpayoff));
    for (size_t at = 0; at < payoff.size(); at += 61) {
        float price = 100, sum = 0;
        for (int step = 0; step < steps; step++) {
            price =
                grow(price, normal((unsigned)((at / paths * steps + step) * paths + at % paths)));
            sum += price;
        }
        if (std::fabs(payoff[at] - std::fmax(sum / steps - 100, 0.0f)) > 1e-2f) {
            std::fprintf(stderr, "path %zu: %g is wrong\n", at, payoff[at]);
            return 1;
        }
    }
    std::puts("ok");
    return 0;
}
