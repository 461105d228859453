// Prefix sums, one of which makes workgroups wait for each other.
#include <hip/hip_runtime.h>

__global__ void scan_hs(const int *x, int *o, int n)
{
    __shared__ int s[2][256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t, p = 0;
    s[0][t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = 1; d < 256; d <<= 1) {
        p ^= 1;
        s[p][t] = t >= d ? s[p ^ 1][t] + s[p ^ 1][t - d] : s[p ^ 1][t];
        __syncthreads();
    }
    if (i < n)
        o[i] = s[p][t];
}
__global__ void scan_blelloch(float *x, float *o, int n)
{
    extern __shared__ float t[];
    int id = threadIdx.x, off = 1;
    t[2 * id] = x[2 * id];
    t[2 * id + 1] = x[2 * id + 1];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (id < d) {
            int a = off * (2 * id + 1) - 1, b = off * (2 * id + 2) - 1;
            t[b] += t[a];
        }
        off *= 2;
    }
    if (id == 0)
        t[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        off >>= 1;
        __syncthreads();
        if (id < d) {
            int a = off * (2 * id + 1) - 1, b = off * (2 * id + 2) - 1;
            float q = t[a];
            t[a] = t[b];
            t[b] += q;
        }
    }
    __syncthreads();
    o[2 * id] = t[2 * id];
    o[2 * id + 1] = t[2 * id + 1];
}
__global__ void scan_lookback(const unsigned *x, unsigned *o, volatile unsigned long long *st,
                              unsigned *ctr)
{
    __shared__ unsigned bid, pre, w[4];
    if (threadIdx.x == 0)
        bid = atomicAdd(ctr, 1);
    __syncthreads();
    unsigned b = bid, v = x[b * 256 + threadIdx.x], lane = threadIdx.x & 63, wv = threadIdx.x >> 6;
    for (unsigned d = 1; d < 64; d <<= 1) {
        unsigned y = __shfl_up(v, d);
        if (lane >= d)
            v += y;
    }
    if (lane == 63)
        w[wv] = v;
    __syncthreads();
    for (unsigned j = 0; j < wv; j++)
        v += w[j];
    if (threadIdx.x == 255) {
        unsigned p = 0;
        if (b) {
            unsigned long long s;
            do {
                s = __hip_atomic_load((unsigned long long *)&st[b - 1], __ATOMIC_ACQUIRE,
                                      __HIP_MEMORY_SCOPE_AGENT);
                __builtin_amdgcn_s_sleep(1);
            } while (!(s >> 32));
            p = (unsigned)s;
        }
        __hip_atomic_store((unsigned long long *)&st[b], (1ULL << 32) | (p + v), __ATOMIC_RELEASE,
                           __HIP_MEMORY_SCOPE_AGENT);
        pre = p;
    }
    __syncthreads();
    o[b * 256 + threadIdx.x] = v + pre;
}
