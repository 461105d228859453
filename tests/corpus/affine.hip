#include "host.h"
__global__ void affine(const float *x, const float *b, float *y, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = a * x[i] + b[i];
        y[i] = v > 0 ? v : 0;
    }
}

int main()
{
    int n = 64 * 256;
    std::vector<float> x(n), b(n);
    for (int i = 0; i < n; i++) { x[i] = (i % 97) * 0.125f + 1; b[i] = (i % 31) * 0.25f + 1; }
    float *dx = up(x), *db = up(b), *y = up(std::vector<float>(n));
    affine<<<64, 256>>>(dx, db, y, 2.0f, n);
    OK(hipDeviceSynchronize());
    sum("affine", y, n);
}
