#include "host.h"
__global__ void rms_bf16(const __hip_bfloat16 *x, const __hip_bfloat16 *g, __hip_bfloat16 *y, int cols, float eps)
{
    __shared__ float part[256];
    const __hip_bfloat16 *row = x + (size_t)blockIdx.x * cols;
    float sum = 0;
    for (int i = threadIdx.x; i < cols; i += 256)
        sum += __bfloat162float(row[i]) * __bfloat162float(row[i]);
    part[threadIdx.x] = sum;
    for (int s = 128; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
    }
    __syncthreads();
    const float scale = rsqrtf(part[0] / cols + eps);
    for (int i = threadIdx.x; i < cols; i += 256)
        y[(size_t)blockIdx.x * cols + i] = __float2bfloat16(__bfloat162float(row[i]) * scale * __bfloat162float(g[i]));
}

int main()
{
    int rows = 64, cols = 2048;
    std::vector<__hip_bfloat16> x(rows * cols), g(cols);
    unsigned r = 1;
    for (auto &v : x) { r = r * 1664525u + 1013904223u; v = __float2bfloat16((int)(r >> 8) / 8388608.0f - 1); }
    for (auto &v : g) { r = r * 1664525u + 1013904223u; v = __float2bfloat16((int)(r >> 8) / 16777216.0f + 0.5f); }
    __hip_bfloat16 *dx = up(x), *dg = up(g), *y = up(std::vector<__hip_bfloat16>(rows * cols));
    rms_bf16<<<rows, 256>>>(dx, dg, y, cols, 1e-5f);
    OK(hipDeviceSynchronize());
    std::vector<__hip_bfloat16> v(rows * cols);
    OK(hipMemcpy(v.data(), y, v.size() * 2, hipMemcpyDeviceToHost));
    double s = 0;
    for (auto f : v) s += __bfloat162float(f);
    printf("rms_bf16 %.3f\n", s);
}
