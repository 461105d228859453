// 256 bins, counted with atomics in LDS and then in global memory. Exact.
#include "check.h"

#include <vector>

__global__ void histogram(const unsigned char *in, unsigned *bins, int n)
{
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&local[in[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

int main()
{
    constexpr int n = 200003;
    std::vector<unsigned char> in(n);
    std::vector<unsigned> bins(256), expected(256);
    Random random;
    for (unsigned char &value : in) {
        value = static_cast<unsigned char>(random.next() >> 24);
        expected[value]++;
    }
    unsigned char *din;
    unsigned *dbins;
    HIP_CHECK(hipMalloc(&din, n));
    HIP_CHECK(hipMalloc(&dbins, 256 * sizeof(unsigned)));
    HIP_CHECK(hipMemcpy(din, in.data(), n, hipMemcpyHostToDevice));
    HIP_CHECK(hipMemset(dbins, 0, 256 * sizeof(unsigned)));
    histogram<<<32, 256>>>(din, dbins, n);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipMemcpy(bins.data(), dbins, 256 * sizeof(unsigned), hipMemcpyDeviceToHost));
    HIP_CHECK(hipFree(din));
    HIP_CHECK(hipFree(dbins));
    return report("histogram", bins == expected);
}
