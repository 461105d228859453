#include "host.h"
__global__ void sort256(const int *in, int *out, int n)
{
    __shared__ int s[256];
    int t = threadIdx.x, at = blockIdx.x * 256 + t;
    s[t] = at < n ? in[at] : 0x7fffffff;
    __syncthreads();
    for (int k = 2; k <= 256; k <<= 1)
        for (int j = k >> 1; j > 0; j >>= 1) {
            int other = t ^ j;
            if (other > t) {
                int a = s[t], b = s[other];
                if ((a > b) == ((t & k) == 0)) {
                    s[t] = b;
                    s[other] = a;
                }
            }
            __syncthreads();
        }
    if (at < n)
        out[at] = s[t];
}

int main()
{
    int n = 8 * 256;
    std::vector<int> v(n);
    for (int i = 0; i < n; i++) v[i] = (long)i * 7919 % 4099 + 1;
    int *in = up(v), *out = up(std::vector<int>(n));
    sort256<<<8, 256>>>(in, out, n);
    OK(hipDeviceSynchronize());
    sum("sort", out, n);
}
