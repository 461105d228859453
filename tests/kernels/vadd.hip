// Streams: addition, scaled addition, copy past the caches.
#include <hip/hip_runtime.h>

__global__ void vadd(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
__global__ void saxpy(float a, const float *x, float *y, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}
__global__ void triad4(const float4 *__restrict a, const float4 *__restrict b, float4 *__restrict c,
                       float s)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + s * y.x, x.y + s * y.y, x.z + s * y.z, x.w + s * y.w);
}
__global__ void stream_copy_nt(const double *__restrict a, double *__restrict c)
{
    size_t i = blockIdx.x * (size_t)1024 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 4; k++)
        __builtin_nontemporal_store(__builtin_nontemporal_load(&a[i + k * 256]), &c[i + k * 256]);
}
