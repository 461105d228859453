#include "host.h"
__global__ void steps(const float *x, float *y, int n, float scale)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = rintf(x[i] / scale) * scale;
}
int main()
{
    int n = 100000;
    std::vector<float> x(n);
    unsigned r = 1;
    for (auto &v : x) { r = r * 1664525u + 1013904223u; v = (int)(r >> 8) / 2097152.0f - 4.0f; }
    float *dx = up(x), *y = up(std::vector<float>(n));
    steps<<<(n + 255) / 256, 256>>>(dx, y, n, 0.1f);
    OK(hipDeviceSynchronize());
    sum("steps", y, n);
}
