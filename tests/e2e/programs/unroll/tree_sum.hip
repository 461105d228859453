// A sum by strides over the grid, then a tree in LDS. The tree has a barrier in its loop and must
// stay as it is; each thread adds two numbers only, so copies of the other loop are never used up.
#include "check.h"

#include <vector>

__global__ void tree_sum(const int *in, int *out, int n)
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

int main()
{
    constexpr int blocks = 32, n = blocks * 256 * 2;
    std::vector<int> in(n), out(blocks);
    Random random;
    int expected = 0, sum = 0;
    for (int &value : in)
        expected += value = static_cast<int>(random.next() % 2001) - 1000;
    int *din, *dout;
    HIP_CHECK(hipMalloc(&din, n * sizeof(int)));
    HIP_CHECK(hipMalloc(&dout, blocks * sizeof(int)));
    HIP_CHECK(hipMemcpy(din, in.data(), n * sizeof(int), hipMemcpyHostToDevice));
    tree_sum<<<blocks, 256>>>(din, dout, n);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipMemcpy(out.data(), dout, blocks * sizeof(int), hipMemcpyDeviceToHost));
    for (int value : out)
        sum += value;
    return report("tree_sum", sum == expected);
}
