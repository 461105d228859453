// Histograms by LDS and global atomics.
#include <hip/hip_runtime.h>

__global__ void hist_lds(const unsigned char *x, unsigned *h, int n)
{
    __shared__ unsigned s[256];
    s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&s[x[i]], 1);
    __syncthreads();
    atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}
__global__ void hist_glb(const uint4 *x, unsigned *h, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        uint4 v = x[i];
        atomicInc(&h[v.x & 255], ~0u);
        atomicAdd(&h[v.y >> 24], 1);
        atomicOr(&h[(v.z >> 8) & 255], v.w);
        atomicCAS(&h[v.w & 7], v.x, v.y);
    }
}
__global__ void hist_f(const float *x, float *h, int n)
{
    __shared__ float s[64];
    if (threadIdx.x < 64)
        s[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&s[(int)(x[i] * 63.f)], x[i]);
    __syncthreads();
    if (threadIdx.x < 64)
        unsafeAtomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}
