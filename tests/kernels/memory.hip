// Atomics, generic pointers, fences, narrow and wide accesses, buffers, loads into LDS.
#include <hip/hip_runtime.h>

#include <hip/hip_cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void atomics_all(int *a, unsigned *b, unsigned long long *c, float *d, double *e)
{
    int t = threadIdx.x;
    atomicAdd(a, t);
    atomicSub(a + 1, t);
    atomicMin(a + 2, t);
    atomicMax(a + 3, t);
    atomicAnd(b, t);
    atomicOr(b + 1, t);
    atomicXor(b + 2, t);
    atomicExch(b + 3, t);
    atomicInc(b + 4, 9);
    atomicDec(b + 5, 9);
    atomicMin(b + 6, t);
    atomicMax(b + 7, t);
    atomicAdd(c, t);
    atomicMin(c + 1, t);
    atomicMax(c + 2, t);
    atomicCAS(c + 3, t, 1);
    atomicExch(c + 4, t);
    atomicAnd(c + 5, t);
    d[9] = atomicAdd(d, 1.5f);
    e[9] = atomicAdd(e, 2.5);
    atomicMax(d + 1, (float)t);
    atomicMin(e + 1, (double)t);
    atomicAdd_system(a + 9, 1);
    unsafeAtomicMax(e + 3, (double)t);
}
__global__ void lds_atomics(int *a, float *d, double *e)
{
    __shared__ int s[8];
    __shared__ float f[2];
    __shared__ double g[2];
    __shared__ unsigned long long u[4];
    int t = threadIdx.x;
    if (t < 8)
        s[t] = 0;
    if (t < 2)
        f[t] = g[t] = 0;
    if (t < 4)
        u[t] = 0;
    __syncthreads();
    atomicAdd(&s[0], t);
    atomicMax(&s[1], t);
    a[9 + t] = atomicCAS(&s[2], 0, t);
    atomicExch(&s[3], t);
    atomicAdd(&f[0], 1.f);
    atomicAdd(&g[0], 1.0);
    atomicMin((unsigned *)&s[4], t);
    a[t] = atomicOr(&s[5], t);
    atomicAdd(&u[0], t);
    atomicMax(&u[1], t);
    __syncthreads();
    a[0] = s[0];
    d[0] = f[0];
    e[0] = g[0] + u[0];
}
__global__ void generic_ptr(int *g, int k)
{
    __shared__ int s[64];
    int loc[4] = {k, k + 1, k + 2, k + 3};
    s[threadIdx.x] = k;
    int *p = (k & 1) ? &s[k & 63] : (k & 2) ? &loc[k & 3] : g;
    __syncthreads();
    *p += 1;
    g[threadIdx.x] = *p + loc[1] + s[3];
}
__global__ void fences(int *x, int *f)
{
    x[threadIdx.x] = 1;
    __threadfence();
    atomicExch(f, 1);
    __threadfence_system();
    while (__hip_atomic_load(f + 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0)
        __builtin_amdgcn_s_sleep(8);
    __threadfence_block();
    x[64] = __hip_atomic_fetch_add(f + 2, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
}
__global__ void cg_tile(const float *x, float *y)
{
    auto b = cg::this_thread_block();
    auto t = cg::tiled_partition<16>(b);
    float v = x[b.thread_rank()];
    for (int d = 8; d; d >>= 1)
        v += t.shfl_xor(v, d);
    b.sync();
    if (t.thread_rank() == 0)
        y[b.thread_rank() / 16] = v;
}
__global__ void subword(const signed char *a, const unsigned short *b, short *c, char2 *d,
                        ushort4 *e, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    c[i] = a[i] * b[i];
    char2 q = d[i];
    d[i] = make_char2(q.y, q.x + a[i]);
    ushort4 u = e[i];
    e[i] = make_ushort4(u.w + 1, u.z, u.y * 3, u.x);
    __shared__ signed char s[256];
    __shared__ short h[256];
    s[threadIdx.x] = a[i];
    h[threadIdx.x] = b[i];
    __syncthreads();
    c[i] += s[255 - threadIdx.x] + h[threadIdx.x ^ 1];
}
__global__ void vecmem(const float3 *a, float3 *b, const double2 *c, double2 *d, int n)
{
    __shared__ float4 s[256];
    __shared__ double2 q[64];
    int i = blockIdx.x * 256 + threadIdx.x;
    float3 x = a[i];
    b[i] = make_float3(x.z, x.x, x.y);
    s[threadIdx.x] = make_float4(x.x, x.y, x.z, 1);
    q[i & 63] = c[i];
    __syncthreads();
    d[i] = make_double2(q[(i + 1) & 63].x, s[255 - threadIdx.x].z);
}
typedef int i4v __attribute__((ext_vector_type(4)));
__global__ void rawbuf(const float *p, float *o, int n)
{
    __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc((void *)p, 0, n * 4, 0x00020000);
    __amdgpu_buffer_rsrc_t w = __builtin_amdgcn_make_buffer_rsrc((void *)o, 0, n * 4, 0x00020000);
    int i = (blockIdx.x * 256 + threadIdx.x) * 16;
    i4v v = __builtin_amdgcn_raw_buffer_load_b128(r, i, 0, 0);
    v.x += 1;
    __builtin_amdgcn_raw_buffer_store_b128(v, w, i, 0, 0);
    __builtin_amdgcn_raw_buffer_store_b32(v.y, w, i + 4, n, 0);
}
__global__ void lds_dma(const float *g, float *o)
{
    __shared__ float s[256];
    __builtin_amdgcn_global_load_lds((__attribute__((address_space(1))) void *)(g + threadIdx.x),
                                     (__attribute__((address_space(3))) void *)s, 4, 0, 0);
    __builtin_amdgcn_s_waitcnt(0);
    __syncthreads();
    o[threadIdx.x] = s[255 - threadIdx.x];
}
__global__ void ptrchase(unsigned long long **p, int n, unsigned long long *o)
{
    unsigned long long *q = (unsigned long long *)p;
    for (int i = 0; i < n; i++)
        q = (unsigned long long *)*q;
    *o = (unsigned long long)q;
}
__global__ void gather_scatter(const int *ix, const float *a, float *b, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        int k = ix[i];
        b[k] = a[n - 1 - k];
    }
}
__global__ void pk_atomic(_Float16 __attribute__((ext_vector_type(2))) * p)
{
    typedef _Float16 h2 __attribute__((ext_vector_type(2)));
    h2 v = {(_Float16)1, (_Float16)2};
    __builtin_amdgcn_global_atomic_fadd_v2f16((__attribute__((address_space(1))) h2 *)p, v);
}
__global__ void bigmem_memset(uint4 *p, uint4 v, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)256 + threadIdx.x; i < n; i += (size_t)gridDim.x * 256)
        p[i] = v;
}
