#include "host.h"
__global__ void center(const int *in, int *out, int n)
{
    __shared__ long long red[128];
    int t = threadIdx.x;
    const int *row = in + (size_t)blockIdx.x * n;
    long long sum = 0;
    for (int i = t; i < n; i += blockDim.x)
        sum += row[i];
    red[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s)
            red[t] += red[t + s];
        __syncthreads();
    }
    long long mean = red[0] / n;
    for (int i = t; i < n; i += blockDim.x)
        out[(size_t)blockIdx.x * n + i] = row[i] - (int)mean;
}

int main()
{
    int rows = 24, n = 384;
    std::vector<int> v(rows * n);
    for (int i = 0; i < rows * n; i++) v[i] = i * 53 % 211 + 10;
    int *in = up(v), *out = up(std::vector<int>(rows * n));
    center<<<rows, 128>>>(in, out, n);
    OK(hipDeviceSynchronize());
    sum("center", out, rows * n);
}
