#include "host.h"
__global__ void minmax(const int *in, int *range, int n)
{
    __shared__ int low, high;
    if (threadIdx.x == 0) {
        low = 0x7fffffff;
        high = -0x7fffffff - 1;
    }
    __syncthreads();
    int lo = 0x7fffffff, hi = -0x7fffffff - 1;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        lo = min(lo, in[i]);
        hi = max(hi, in[i]);
    }
    atomicMin(&low, lo);
    atomicMax(&high, hi);
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMin(&range[0], low);
        atomicMax(&range[1], high);
    }
}

int main()
{
    int n = 16 * 256 * 4;
    std::vector<int> v(n);
    for (int i = 0; i < n; i++) v[i] = (long)i * 6151 % 10007 + 5;
    int *in = up(v), *range = up(std::vector<int>{0x7fffffff, -0x7fffffff - 1});
    minmax<<<16, 256>>>(in, range, n);
    OK(hipDeviceSynchronize());
    sum("minmax", range, 2);
}
