#include "host.h"
__global__ void softmax(const float *in, float *out, int n)
{
    __shared__ float red[256];
    int t = threadIdx.x;
    const float *row = in + (size_t)blockIdx.x * n;
    float top = -INFINITY;
    for (int i = t; i < n; i += 256)
        top = fmaxf(top, row[i]);
    red[t] = top;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (t < s)
            red[t] = fmaxf(red[t], red[t + s]);
        __syncthreads();
    }
    top = red[0];
    __syncthreads();
    float sum = 0;
    for (int i = t; i < n; i += 256)
        sum += expf(row[i] - top);
    red[t] = sum;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (t < s)
            red[t] += red[t + s];
        __syncthreads();
    }
    sum = red[0];
    for (int i = t; i < n; i += 256)
        out[(size_t)blockIdx.x * n + i] = expf(row[i] - top) / sum;
}

int main()
{
    int rows = 16, n = 512;
    std::vector<float> v(rows * n);
    for (int i = 0; i < rows * n; i++) v[i] = (i * 37 % 101) * 0.0625f;
    float *in = up(v), *out = up(std::vector<float>(rows * n));
    softmax<<<rows, 256>>>(in, out, n);
    OK(hipDeviceSynchronize());
    sum("softmax", out, rows * n);
}
