#include "host.h"
__global__ void rms_half(const __half *x, const __half *g, __half *y, int cols, float eps)
{
    __shared__ float part[256];
    const __half *row = x + (size_t)blockIdx.x * cols;
    float sum = 0;
    for (int i = threadIdx.x; i < cols; i += 256)
        sum += __half2float(row[i]) * __half2float(row[i]);
    part[threadIdx.x] = sum;
    for (int s = 128; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
    }
    __syncthreads();
    const float scale = rsqrtf(part[0] / cols + eps);
    for (int i = threadIdx.x; i < cols; i += 256)
        y[(size_t)blockIdx.x * cols + i] = __float2half(__half2float(row[i]) * scale * __half2float(g[i]));
}

int main()
{
    int rows = 64, cols = 2048;
    std::vector<__half> x(rows * cols), g(cols);
    unsigned r = 1;
    for (auto &v : x) { r = r * 1664525u + 1013904223u; v = __float2half((int)(r >> 8) / 8388608.0f - 1); }
    for (auto &v : g) { r = r * 1664525u + 1013904223u; v = __float2half((int)(r >> 8) / 16777216.0f + 0.5f); }
    __half *dx = up(x), *dg = up(g), *y = up(std::vector<__half>(rows * cols));
    rms_half<<<rows, 256>>>(dx, dg, y, cols, 1e-5f);
    OK(hipDeviceSynchronize());
    std::vector<__half> v(rows * cols);
    OK(hipMemcpy(v.data(), y, v.size() * 2, hipMemcpyDeviceToHost));
    double s = 0;
    for (auto f : v) s += __half2float(f);
    printf("rms_half %.3f\n", s);
}
