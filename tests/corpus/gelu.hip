#include "host.h"
__global__ void gelu(const float *x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 0.5f * x[i] * (1 + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}
int main()
{
    int n = 100000;
    std::vector<float> x(n);
    unsigned r = 1;
    for (auto &v : x) { r = r * 1664525u + 1013904223u; v = (int)(r >> 8) / 2097152.0f - 4.0f; }
    float *dx = up(x), *y = up(std::vector<float>(n));
    gelu<<<(n + 255) / 256, 256>>>(dx, y, n);
    OK(hipDeviceSynchronize());
    std::vector<float> v(n);
    OK(hipMemcpy(v.data(), y, v.size() * 4, hipMemcpyDeviceToHost));
    double s = 0;
    for (float f : v) s += f;
    printf("gelu %.1f\n", s);
}
