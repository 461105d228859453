#include "host.h"
// bf16: what is positive, doubled and shifted.
__global__ void scale16(const unsigned short *x, unsigned short *y, int n)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    for (int k = 0; k < 4 && i + k < n; k++) {
        float v = 2 * wide(x[i + k]);
        y[i + k] = narrow(v > 0 ? v : 0);
    }
}

int main()
{
    int n = 16 * 256 * 4;
    std::vector<unsigned short> v(n);
    for (int i = 0; i < n; i++) v[i] = (i % 3 ? 0x3f00 : 0xbf00) + i * 37 % 256;
    unsigned short *x = up(v), *y = up(std::vector<unsigned short>(n));
    scale16<<<16, 256>>>(x, y, n);
    OK(hipDeviceSynchronize());
    sum("scale16", y, n);
}
