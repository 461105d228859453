// Each lane takes every n-th number, one at a time: an array of results, and a sum of all.
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>
#include <vector>

enum { THREADS = 256, GROUPS = 64 };

__global__ void fill(float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        in[i] = (float)(i % 7) * 0.1f + 0.3f;
}

__global__ void scale_and_add(const float *x, const float *z, float *y, float factor, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = factor * x[i] + z[i];
}

__global__ void row_norms(const float *x, float *norms, int columns)
{
    __shared__ float parts[THREADS];
    const float *row = x + (size_t)blockIdx.x * columns;
    float sum = 0;

    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += row[i] * row[i];
    parts[threadIdx.x] = sum;
    for (int step = THREADS / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            parts[threadIdx.x] += parts[threadIdx.x + step];
    }
    if (threadIdx.x == 0)
        norms[blockIdx.x] = parts[0];
}

int main(int argc, char **argv)
{
    const int columns = argc > 1 ? std::atoi(argv[1]) : THREADS * 32 + 3, n = GROUPS * columns;
    std::vector<float> norms(GROUPS);
    float *x, *y, *out;
    double sum = 0;

    if (hipMalloc(&x, n * sizeof(float) + 1) != hipSuccess ||
        hipMalloc(&y, n * sizeof(float) + 1) != hipSuccess ||
        hipMalloc(&out, norms.size() * sizeof(float)) != hipSuccess)
        return 1;
    fill<<<n / THREADS + 1, THREADS>>>(x, n);
    scale_and_add<<<GROUPS, THREADS>>>(x, x, y, 2, n);
    row_norms<<<GROUPS, THREADS>>>(y, out, columns);
    if (hipMemcpy(norms.data(), out, norms.size() * sizeof(float), hipMemcpyDeviceToHost) !=
        hipSuccess)
        return 1;
    for (float norm : norms)
        sum += norm;
    std::printf("%.0f\n", sum);
    return 0;
}
