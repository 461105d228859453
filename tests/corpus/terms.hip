#include "host.h"
// Sixteen terms for each thread.
__global__ void terms(const float *x, const float *w, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0;
    for (int k = 0; k < 16; k++)
        sum += w[k] * x[k * n + i];
    y[i] = sum;
}

int main()
{
    int n = 16 * 256;
    std::vector<float> v(16 * n), w(16);
    for (int i = 0; i < 16 * n; i++) v[i] = (i * 7919 % 20011 - 10005) / 1000.0f;
    for (int k = 0; k < 16; k++) w[k] = (k * 31 % 17 - 8) / 7.0f;
    float *x = up(v), *d = up(w), *y = up(std::vector<float>(n));
    terms<<<16, 256>>>(x, d, y, n);
    OK(hipDeviceSynchronize());
    // Sums in another order have other last digits, which a program need not print.
    std::vector<float> got(n);
    OK(hipMemcpy(got.data(), y, n * sizeof(float), hipMemcpyDeviceToHost));
    double all = 0, most = 0;
    for (float f : got) all += f, most = f > most ? f : most;
    printf("terms %.2f %.2f\n", all, most);
}
