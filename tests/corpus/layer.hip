#include "host.h"
__global__ void layer(const float *x, const float *g, const float *b, float *y, int cols, float eps)
{
    __shared__ float part[256];
    const float *row = x + (size_t)blockIdx.x * cols;
    float sum = 0;
    for (int i = threadIdx.x; i < cols; i += 256)
        sum += row[i];
    part[threadIdx.x] = sum;
    for (int s = 128; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
    }
    __syncthreads();
    const float mean = part[0] / cols;
    __syncthreads();
    float dev = 0;
    for (int i = threadIdx.x; i < cols; i += 256)
        dev += (row[i] - mean) * (row[i] - mean);
    part[threadIdx.x] = dev;
    for (int s = 128; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
    }
    __syncthreads();
    const float scale = rsqrtf(part[0] / cols + eps);
    for (int i = threadIdx.x; i < cols; i += 256)
        y[(size_t)blockIdx.x * cols + i] = (row[i] - mean) * scale * g[i] + b[i];
}

int main()
{
    int rows = 64, cols = 1000;
    std::vector<float> x(rows * cols), g(cols), b(cols);
    unsigned r = 1;
    for (auto &v : x) { r = r * 1664525u + 1013904223u; v = (int)(r >> 8) / 8388608.0f - 0.3f; }
    for (auto &v : g) { r = r * 1664525u + 1013904223u; v = (int)(r >> 8) / 16777216.0f + 0.5f; }
    for (auto &v : b) { r = r * 1664525u + 1013904223u; v = (int)(r >> 8) / 16777216.0f - 0.5f; }
    float *dx = up(x), *dg = up(g), *db = up(b), *y = up(std::vector<float>(rows * cols));
    layer<<<rows, 256>>>(dx, dg, db, y, cols, 1e-5f);
    OK(hipDeviceSynchronize());
    std::vector<float> v(rows * cols);
    OK(hipMemcpy(v.data(), y, v.size() * 4, hipMemcpyDeviceToHost));
    double s = 0;
    for (float f : v) s += f;
    printf("layer %.2f\n", s);
}
