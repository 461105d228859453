// Calls, indirect and virtual calls, recursion, switches, spills, clocks, traps, votes.
#include <hip/hip_runtime.h>

__device__ __noinline__ float f1(float x)
{
    return x * x + 1.f;
}
__device__ __noinline__ float f2(float x, int k)
{
    float s = 0;
    for (int i = 0; i < k; i++)
        s += f1(x + i);
    return s;
}
__device__ __noinline__ float f3(float x, int k)
{
    return f2(x, k) - f1(x);
}
__global__ void calls(const float *x, float *y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        y[i] = f2(x[i], n & 7);
}
typedef float (*fp)(float, int);
__device__ fp table[2] = {f2, f3};
__global__ void indirect(const float *x, float *y, const int *w, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        y[i] = table[w[i] & 1](x[i], 3);
}
__device__ __noinline__ int fibr(int n)
{
    return n < 2 ? n : fibr(n - 1) + fibr(n - 2);
}
__global__ void recursion(const int *x, int *y)
{
    int i = threadIdx.x;
    y[i] = fibr(x[i]);
}
struct V {
    __device__ virtual int f(int) const = 0;
};
struct A : V {
    int a;
    __device__ A(int q) : a(q)
    {
    }
    __device__ int f(int x) const override
    {
        return x + a;
    }
};
struct B : V {
    int b;
    __device__ B(int q) : b(q)
    {
    }
    __device__ int f(int x) const override
    {
        return x * b;
    }
};
__global__ void virt(int *y, int k)
{
    int i = threadIdx.x;
    A a(k);
    B b(k);
    const V *p = (y[i] & 1) ? (const V *)&a : (const V *)&b;
    y[i] = p->f(i);
}
__global__ void sw(const int *x, int *y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    int v = x[i], r;
    switch (v & 15) {
    case 0:
        r = v + 1;
        break;
    case 1:
        r = v * 3;
        break;
    case 2:
        r = v ^ 0x55;
        break;
    case 3:
        r = ~v;
        break;
    case 4:
        r = v << 3;
        break;
    case 5:
        r = v >> 2;
        break;
    case 6:
        r = v * v;
        break;
    case 7:
        r = v | 9;
        break;
    case 9:
        r = -v;
        break;
    case 11:
        r = v % 5;
        break;
    default:
        r = 0;
    }
    y[i] = r;
}
__global__ void collatz(const unsigned *x, int *y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    unsigned long long v = x[i];
    int c = 0;
    while (v != 1) {
        v = (v & 1) ? 3 * v + 1 : v >> 1;
        if (++c > n)
            break;
        if (v == 7)
            continue;
    }
    y[i] = c;
}
__global__ void uswitch(const int *x, int *y, int m)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    int v = x[i];
    switch (m) {
    case 0:
        v += 1;
        break;
    case 1:
        v *= 7;
        break;
    case 2:
        v ^= v >> 3;
        break;
    case 3:
        v = __popc(v);
        break;
    case 4:
        v = v / 3;
        break;
    case 5:
        v -= 9;
        break;
    }
    y[i] = v;
}
__global__ void spill(const float *x, float *y, const int *idx, int n)
{
    float a[96];
    int i = blockIdx.x * 64 + threadIdx.x;
    for (int k = 0; k < 96; k++)
        a[k] = x[k * 64 + i];
    for (int k = 0; k < n; k++)
        a[idx[k] % 96] += a[(idx[k] * 7) % 96] * 1.1f;
    float s = 0;
    for (int k = 0; k < 96; k++)
        s += a[k] * a[95 - k];
    y[i] = s;
}
__global__ __launch_bounds__(1024) void spill_regs(const double *__restrict x, double *__restrict y)
{
    double a[48];
    int i = blockIdx.x * 1024 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 48; k++)
        a[k] = x[k * 1024 + i];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 3; r++)
#pragma unroll
        for (int k = 0; k < 48; k++)
            a[k] = fma(a[(k + 7) % 48], a[(k + 13) % 48], a[k]);
#pragma unroll
    for (int k = 0; k < 48; k++)
        y[k * 1024 + i] = a[k];
}
__global__ void clocks(long long *o, int n)
{
    long long t = clock64();
    long long w = wall_clock64();
    for (int i = 0; i < n; i++)
        __builtin_amdgcn_s_sleep(2);
    o[threadIdx.x] = clock64() - t;
    o[64 + threadIdx.x] = wall_clock64() - w;
    o[128] = __builtin_readcyclecounter();
    o[129] = __builtin_amdgcn_s_getreg(0xf804);
    __builtin_amdgcn_s_setprio(2);
    o[130] = __builtin_amdgcn_s_getreg((31 << 11) | 20);
}
__global__ void asserts(int *x, int n)
{
    if (x[threadIdx.x] > n)
        __builtin_trap();
    x[0] = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}
__global__ void votes(const int *x, unsigned long long *o)
{
    int v = x[threadIdx.x];
    o[threadIdx.x] = __ballot(v > 3) + __any(v == 2) + __all(v < 99) + __activemask() +
                     __shfl(v, 5, 16) + __shfl_up(v, 1, 32);
    if (v & 1)
        o[threadIdx.x] += __ballot(v > 7);
}
__global__ void bigkernarg(int4 a, int4 b, int4 c, double *o, long z, short s, char q)
{
    o[threadIdx.x] = a.x + b.y + c.z + z + s + q + gridDim.x + blockDim.y + gridDim.z + blockIdx.y +
                     blockIdx.z + threadIdx.y + threadIdx.z;
}
__constant__ float ctab[64];
__device__ int gvar;
__global__ void constmem(float *o, int n)
{
    float s = 0;
    for (int i = 0; i < n; i++)
        s += ctab[i & 63];
    o[threadIdx.x] = s;
    if (!threadIdx.x)
        gvar = n;
}
