// A workgroup adds up its 16 threads' values in LDS of just that size: no other size of workgroups is right. What is
// printed does not show it.
#include <cstdio>
#include <hip/hip_runtime.h>

enum { THREADS = 16, LANES = 16, ROUNDS = 16 };

__global__ void sums(const float *a, float *b, unsigned n)
{
    __shared__ float part[LANES];
    const unsigned i = blockIdx.x * THREADS + threadIdx.x;
    float s = 0;
    for (int t = 0; t < ROUNDS; t++)
        s = 0.5f * (s + a[(i + 1024u * t) % n]);
    if (threadIdx.x < LANES)
        part[threadIdx.x] = s;
    __syncthreads();
    for (int l = 0; l < LANES; l++)
        s += part[l];
    b[i] = s;
}

int main()
{
    const unsigned n = 304 * 16 * 16;
    float *a, *b;
    if (hipMalloc(&a, n * sizeof(float)) || hipMalloc(&b, n * sizeof(float)))
        return 1;
    sums<<<n / THREADS, THREADS>>>(a, b, n);
    if (hipDeviceSynchronize())
        return 1;
    puts("done");
    return 0;
}
