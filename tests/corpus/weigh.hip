#include "host.h"
__global__ void weigh(const float *w, const float *x, float *y, int cols)
{
    __shared__ float part[256];
    const float *row = w + (size_t)blockIdx.x * cols;
    float sum = 0;
    for (int i = threadIdx.x; i < cols; i += 256)
        sum += row[i] * x[i];
    part[threadIdx.x] = sum;
    for (int s = 128; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = part[0];
}

int main()
{
    int rows = 64, cols = 4096;
    std::vector<float> w(rows * cols), x(cols);
    for (int i = 0; i < rows * cols; i++) w[i] = i * 7 % 19 + 1;
    for (int i = 0; i < cols; i++) x[i] = i % 5 + 1;
    float *dw = up(w), *dx = up(x), *y = up(std::vector<float>(rows));
    weigh<<<rows, 256>>>(dw, dx, y, cols);
    OK(hipDeviceSynchronize());
    sum("weigh", y, rows);
}
