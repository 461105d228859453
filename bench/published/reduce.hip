// Six sums of MILLIONS of floats by workgroups of 256, from an atomic addition of each to eight a work-item and shuffles. Those with
// trees leave a sum of each workgroup, as one step of several.
#include "common.h"

enum { SIZE = 256 };

__global__ void atomic(const float *in, float *out, int n)
{
    const int i = blockIdx.x * SIZE + threadIdx.x;
    if (i < n)
        unsafeAtomicAdd(out, in[i]);
}

static __device__ float *load(const float *in, int n)
{
    __shared__ float part[SIZE];
    const int i = blockIdx.x * SIZE + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    return part;
}

__global__ void interleaved(const float *in, float *out, int n)
{
    float *part = load(in, n);
    const int t = threadIdx.x;
    for (int k = 1; k < SIZE; k *= 2) {
        if (t % (2 * k) == 0)
            part[t] += part[t + k];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = part[0];
}

__global__ void strided(const float *in, float *out, int n)
{
    float *part = load(in, n);
    for (int k = 1; k < SIZE; k *= 2) {
        const int t = 2 * k * threadIdx.x;
        if (t < SIZE)
            part[t] += part[t + k];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0];
}

static __device__ void halve(float *part, int last)
{
    for (int k = SIZE / 2; k >= last; k /= 2) {
        if (threadIdx.x < k)
            part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
}

__global__ void contiguous(const float *in, float *out, int n)
{
    float *part = load(in, n);
    halve(part, 1);
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0];
}

static __device__ float shuffle(float *part)
{
    halve(part, 64);
    float sum = part[threadIdx.x % 64];
    for (int k = 32; k; k /= 2)
        sum += __shfl_down(sum, k);
    return sum;
}

__global__ void shuffled(const float *in, float *out, int n)
{
    const float sum = shuffle(load(in, n));
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}

__global__ void eight(const float *in, float *out, int n)
{
    __shared__ float part[SIZE];
    float sum = 0;
    for (int k = 0; k < 8; k++) {
        const int i = (blockIdx.x * 8 + k) * SIZE + threadIdx.x;
        if (i < n)
            sum += in[i];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    sum = shuffle(part);
    if (threadIdx.x == 0)
        unsafeAtomicAdd(out, sum);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        usage("reduce MILLIONS");
    const int n = atoi(argv[1]) * 1000000, groups = (n + SIZE - 1) / SIZE;
    float *in = device<float>(n), *out = device<float>(groups);
    OK(hipMemset(in, 0, (size_t)n * 4));
    atomic<<<groups, SIZE>>>(in, out, n);
    interleaved<<<groups, SIZE>>>(in, out, n);
    strided<<<groups, SIZE>>>(in, out, n);
    contiguous<<<groups, SIZE>>>(in, out, n);
    shuffled<<<groups, SIZE>>>(in, out, n);
    eight<<<(groups + 7) / 8, SIZE>>>(in, out, n);
    finish();
}
