// A cooperative launch with a grid-wide barrier, and an ordinary kernel beside it.
#include "check.h"

#include <hip/hip_cooperative_groups.h>

__global__ void fill(int *value)
{
    value[threadIdx.x] = static_cast<int>(threadIdx.x);
}

__global__ void rotate(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, mine = in[i];
    cooperative_groups::this_grid().sync(); // everybody has read before anybody writes
    out[(i + 1) % n] = mine;
}

// Nothing but cooperative launches: on every GPU, on two streams, and again after a reset.
static bool only()
{
    constexpr int n = 256;
    int devices = 0, count = n;
    HIP_CHECK(hipGetDeviceCount(&devices));
    for (int round = 0; round < 2; round++)
        for (int device = 0; device < devices; device++) {
            int *data;
            hipStream_t stream;
            HIP_CHECK(hipSetDevice(device));
            HIP_CHECK(hipMalloc(&data, n * sizeof(int)));
            HIP_CHECK(hipStreamCreate(&stream));
            void *arguments[] = {&data, &data, &count};
            for (int launch = 0; launch < 3; launch++)
                HIP_CHECK(hipLaunchCooperativeKernel(reinterpret_cast<void *>(rotate), dim3(4),
                                                     dim3(64), arguments, 0,
                                                     launch == 1 ? stream : 0));
            HIP_CHECK(hipDeviceSynchronize());
            HIP_CHECK(hipStreamDestroy(stream));
            HIP_CHECK(hipFree(data));
            if (round == 0)
                HIP_CHECK(hipDeviceReset());
        }
    return true;
}

int main(int argc, char **)
{
    if (argc > 1)
        return report("cooperative only", only());
    constexpr int n = 256;
    int *data, host[n], count = n;
    HIP_CHECK(hipMalloc(&data, n * sizeof(int)));
    fill<<<1, n>>>(data);
    HIP_CHECK(hipGetLastError());
    void *arguments[] = {&data, &data, &count};
    HIP_CHECK(hipLaunchCooperativeKernel(reinterpret_cast<void *>(rotate), dim3(4), dim3(64),
                                         arguments, 0, 0));
    HIP_CHECK(hipMemcpy(host, data, sizeof host, hipMemcpyDeviceToHost));
    bool ok = true;
    for (int i = 0; i < n; i++)
        ok = ok && host[(i + 1) % n] == i;
    HIP_CHECK(hipFree(data));
    return report("cooperative", ok);
}
