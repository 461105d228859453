#include "host.h"
__global__ void shift(const int *in, int *out, int n)
{
    __shared__ int s[256];
    int t = threadIdx.x;
    for (int at = blockIdx.x * 256; at < n; at += gridDim.x * 256) {
        if (at + t < n)
            s[t] = in[at + t];
        __syncthreads();
        int count = min(256, n - at);
        if (t < count)
            out[at + t] = s[t + 1 < count ? t + 1 : 0];
        __syncthreads();
    }
}

int main()
{
    int n = 8 * 256;
    std::vector<int> v(n);
    for (int i = 0; i < n; i++) v[i] = i * 41 % 509 + 3;
    int *in = up(v), *out = up(std::vector<int>(n));
    shift<<<8, 256>>>(in, out, n);
    OK(hipDeviceSynchronize());
    sum("shift", out, n);
}
