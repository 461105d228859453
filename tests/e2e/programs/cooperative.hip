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

int main()
{
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
