// Sums and maxima by LDS, shuffles and atomics.
#include <hip/hip_runtime.h>

__global__ void reduce_lds(const float *x, float *o, int n)
{
    __shared__ float s[256];
    float v = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        v += x[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int d = 128; d > 0; d >>= 1) {
        if ((int)threadIdx.x < d)
            s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        o[blockIdx.x] = s[0];
}
__global__ void reduce_shfl(const float *x, float *o, int n)
{
    __shared__ float s[4];
    float v = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        v += x[i];
    for (int d = 32; d; d >>= 1)
        v += __shfl_down(v, d);
    if ((threadIdx.x & 63) == 0)
        s[threadIdx.x >> 6] = v;
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(o, s[0] + s[1] + s[2] + s[3]);
}
__global__ void reduce_max_i64(const long long *x, long long *o, int n)
{
    long long m = -(1LL << 62);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        m = max(m, x[i]);
    for (int d = 32; d; d >>= 1)
        m = max(m, (long long)__shfl_xor(m, d));
    if ((threadIdx.x & 63) == 0)
        atomicMax(o, m);
}
__global__ void reduce_double(const double *x, double *o, int n)
{
    double v = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        v += x[i];
    for (int d = 32; d; d >>= 1)
        v += __shfl_down(v, d);
    if ((threadIdx.x & 63) == 0)
        unsafeAtomicAdd(o, v);
}
__global__ void dot_prod(const double *a, const double *b, double *o, int n)
{
    __shared__ double s[1024];
    double v = 0;
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < n; i += gridDim.x * 1024)
        v += a[i] * b[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int d = 512; d; d >>= 1) {
        if ((int)threadIdx.x < d)
            s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (!threadIdx.x)
        o[blockIdx.x] = s[0];
}
