#include "host.h"
__global__ void scores(const float *in, float *out, int n, float scale)
{
    __shared__ float red[256];
    const float *row = in + (size_t)blockIdx.x * n;
    float top = -INFINITY;
    for (int i = threadIdx.x; i < n; i += 256)
        top = fmaxf(top, row[i] * scale);
    red[threadIdx.x] = top;
    for (int s = 128; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s)
            red[threadIdx.x] = fmaxf(red[threadIdx.x], red[threadIdx.x + s]);
    }
    __syncthreads();
    top = red[0];
    __syncthreads();
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 256)
        sum += expf(row[i] * scale - top);
    red[threadIdx.x] = sum;
    for (int s = 128; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s)
            red[threadIdx.x] += red[threadIdx.x + s];
    }
    __syncthreads();
    const float all = red[0];
    for (int i = threadIdx.x; i < n; i += 256)
        out[(size_t)blockIdx.x * n + i] = expf(row[i] * scale - top) / all;
}
int main()
{
    int rows = 64, n = 1000;
    std::vector<float> x(rows * n);
    unsigned r = 1;
    for (auto &v : x) { r = r * 1664525u + 1013904223u; v = (int)(r >> 8) / 2097152.0f - 4.0f; }
    float *dx = up(x), *y = up(std::vector<float>(rows * n));
    scores<<<rows, 256>>>(dx, y, n, 0.125f * 8);
    OK(hipDeviceSynchronize());
    std::vector<float> v(rows * n);
    OK(hipMemcpy(v.data(), y, v.size() * 4, hipMemcpyDeviceToHost));
    double s = 0;
    for (float f : v) s += f;
    printf("scores %.2f\n", s);
}
