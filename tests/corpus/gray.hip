#include "host.h"
__global__ void gray(const unsigned char *rgb, unsigned char *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2] + 128) >> 8;
}

int main()
{
    int n = 32 * 256;
    std::vector<unsigned char> v(3 * n);
    for (int i = 0; i < 3 * n; i++) v[i] = i * 13 % 120;
    unsigned char *in = up(v), *out = up(std::vector<unsigned char>(n));
    gray<<<32, 256>>>(in, out, n);
    OK(hipDeviceSynchronize());
    sum("gray", out, n);
}
