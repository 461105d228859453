// The copy whose counters were read on a real MI300X: 1,048,576 doubles, block 256, three launches.
#include <cstdio>
#include <hip/hip_runtime.h>
#include <vector>

__global__ void vector_copy(double *a, double *b, double *c, int n, int stride)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i];
}

int main()
{
    const int n = 1 << 20;
    std::vector<double> host(n);
    double *a, *c;
    for (int i = 0; i < n; i++)
        host[i] = i;
    if (hipMalloc(&a, n * sizeof *a) != hipSuccess || hipMalloc(&c, n * sizeof *c) != hipSuccess)
        return 1;
    if (hipMemcpy(a, host.data(), n * sizeof *a, hipMemcpyHostToDevice) != hipSuccess)
        return 1;
    for (int i = 0; i < 3; i++)
        vector_copy<<<n / 256, 256>>>(a, a, c, n, 1);
    std::vector<double> back(n);
    if (hipMemcpy(back.data(), c, n * sizeof *c, hipMemcpyDeviceToHost) != hipSuccess)
        return 1;
    for (int i = 0; i < n; i++)
        if (back[i] != i) {
            std::printf("wrong at %d\n", i);
            return 1;
        }
    std::puts("copied");
    return 0;
}
