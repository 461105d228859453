// A naive product of 256^3 and a copy, thirty times, as in a loop of a program: the same launches again and again.
#include "check.h"

__global__ void multiply(int n, const float *a, const float *b, float *c)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

__global__ void copy(const float *from, float *to)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i];
}

int main()
{
    const int n = 256;
    float *a, *b, *c;
    HIP_CHECK(hipMalloc(&a, n * n * sizeof *a));
    HIP_CHECK(hipMalloc(&b, n * n * sizeof *b));
    HIP_CHECK(hipMalloc(&c, n * n * sizeof *c));
    for (int i = 0; i < 30; i++) {
        multiply<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(n, a, b, c);
        copy<<<n * n / 256, 256>>>(c, a);
    }
    HIP_CHECK(hipDeviceSynchronize());
}
