#include "host.h"
__global__ void rms(const float *x, const float *g, float *y, int cols, float eps)
{
    __shared__ float part[256];
    const float *row = x + (size_t)blockIdx.x * cols;
    float sum = 0;
    for (int i = threadIdx.x; i < cols; i += 256)
        sum += row[i] * row[i];
    part[threadIdx.x] = sum;
    for (int s = 128; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
    }
    __syncthreads();
    const float scale = rsqrtf(part[0] / cols + eps);
    for (int i = threadIdx.x; i < cols; i += 256)
        y[(size_t)blockIdx.x * cols + i] = row[i] * scale * g[i];
}

int main()
{
    int rows = 64, cols = 2048;
    std::vector<float> x(rows * cols), g(cols);
    unsigned r = 1;
    for (auto &v : x) { r = r * 1664525u + 1013904223u; v = (int)(r >> 8) / 8388608.0f - 1; }
    for (auto &v : g) { r = r * 1664525u + 1013904223u; v = (int)(r >> 8) / 16777216.0f + 0.5f; }
    float *dx = up(x), *dg = up(g), *y = up(std::vector<float>(rows * cols));
    rms<<<rows, 256>>>(dx, dg, y, cols, 1e-5f);
    OK(hipDeviceSynchronize());
    std::vector<float> v(rows * cols);
    OK(hipMemcpy(v.data(), y, v.size() * 4, hipMemcpyDeviceToHost));
    double s = 0;
    for (float f : v) s += f;
    printf("rms %.3f\n", s);
}
