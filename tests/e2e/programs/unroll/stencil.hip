// A stencil whose reach is an argument, and small: three additions. Copies of the body are for more
// than there is to do, so most of the work goes through the loop of what is left over.
#include "check.h"

#include <vector>

__global__ void smooth(const int *in, int *out, int n, int reach)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int d = 0; d < 2 * reach + 1; d++)
        sum += in[i + d];
    if (i < n)
        out[i] = sum;
}

int main()
{
    constexpr int n = 16384, reach = 1;
    std::vector<int> in(n + 2 * reach), out(n);
    Random random;
    for (int &value : in)
        value = static_cast<int>(random.next() % 2001) - 1000;
    int *din, *dout;
    HIP_CHECK(hipMalloc(&din, in.size() * sizeof(int)));
    HIP_CHECK(hipMalloc(&dout, n * sizeof(int)));
    HIP_CHECK(hipMemcpy(din, in.data(), in.size() * sizeof(int), hipMemcpyHostToDevice));
    smooth<<<n / 256, 256>>>(din, dout, n, reach);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipMemcpy(out.data(), dout, n * sizeof(int), hipMemcpyDeviceToHost));
    bool ok = true;
    for (int i = 0; i < n; i++)
        ok = ok && out[i] == in[i] + in[i + 1] + in[i + 2];
    return report("stencil", ok);
}
