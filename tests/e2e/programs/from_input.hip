// Launches as many kernels as standard input says.
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void step(int *p)
{
    p[threadIdx.x] += 1;
}

int main()
{
    int launches = 0, *data;

    if (scanf("%d", &launches) != 1 || hipMalloc(&data, 256) != hipSuccess)
        return 1;
    for (int i = 0; i < launches; i++)
        step<<<1, 64>>>(data);
    return hipDeviceSynchronize() != hipSuccess;
}
