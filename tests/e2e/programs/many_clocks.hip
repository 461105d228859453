// More waves than are sampled, and each reads the clock.
#include "check.h"

__global__ void tell(long long *out)
{
    if (threadIdx.x == 0)
        out[blockIdx.x] = clock64();
}

int main()
{
    constexpr int BLOCKS = 1 << 15;
    long long *out;
    HIP_CHECK(hipMalloc(&out, BLOCKS * sizeof *out));
    tell<<<BLOCKS, 64>>>(out);
    HIP_CHECK(hipDeviceSynchronize());
    HIP_CHECK(hipFree(out));
}
