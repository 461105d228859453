// Two ways to sum integers: a tree in LDS, and shuffles within a wavefront. Both exact.
#include "check.h"

#include <vector>

__global__ void sum_lds(const int *in, int *out, int n)
{
    __shared__ int partial[256];
    int sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        sum += in[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = partial[0];
}

__global__ void sum_shuffle(const int *in, int *out, int n)
{
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    for (int distance = warpSize / 2; distance > 0; distance /= 2)
        sum += __shfl_down(sum, distance);
    if (threadIdx.x % warpSize == 0)
        atomicAdd(out, sum);
}

int main()
{
    constexpr int n = 300007, blocks = 64;
    std::vector<int> in(n), partial(blocks);
    Random random;
    int expected = 0, by_lds = 0, by_shuffle = 0;
    for (int &value : in)
        expected += value = static_cast<int>(random.next() % 2001) - 1000;
    int *din, *dout;
    HIP_CHECK(hipMalloc(&din, n * sizeof(int)));
    HIP_CHECK(hipMalloc(&dout, blocks * sizeof(int)));
    HIP_CHECK(hipMemcpy(din, in.data(), n * sizeof(int), hipMemcpyHostToDevice));
    sum_lds<<<blocks, 256>>>(din, dout, n);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipMemcpy(partial.data(), dout, blocks * sizeof(int), hipMemcpyDeviceToHost));
    for (int value : partial)
        by_lds += value;
    HIP_CHECK(hipMemset(dout, 0, sizeof(int)));
    sum_shuffle<<<blocks, 256>>>(din, dout, n);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipMemcpy(&by_shuffle, dout, sizeof(int), hipMemcpyDeviceToHost));
    HIP_CHECK(hipFree(din));
    HIP_CHECK(hipFree(dout));
    return report("reduction", by_lds == expected && by_shuffle == expected);
}
