#include "host.h"
// Each place has one owner, so that the atomic is not needed.
__global__ void deal(const float *x, const int *from, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&y[i], x[from[i]]);
}

int main()
{
    int n = 32 * 256;
    std::vector<float> v(n), w(n);
    std::vector<int> to(n);
    for (int i = 0; i < n; i++) v[i] = (i * 7 % 1001 - 500) / 64.0f, w[i] = i % 13, to[i] = i * 5 % n;
    float *x = up(v), *y = up(w);
    int *t = up(to);
    deal<<<32, 256>>>(x, t, y, n);
    OK(hipDeviceSynchronize());
    sum("deal", y, n);
}
