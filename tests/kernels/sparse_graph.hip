// Sparse matrices and graphs.
#include <hip/hip_runtime.h>

__global__ void spmv_csr(const int *rp, const int *ci, const double *v, const double *x, double *y,
                         int n)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n) {
        double s = 0;
        for (int j = rp[r]; j < rp[r + 1]; j++)
            s += v[j] * x[ci[j]];
        y[r] = s;
    }
}
__global__ void spmv_vec(const int *rp, const int *ci, const float *v, const float *x, float *y,
                         int n)
{
    int l = threadIdx.x & 63, r = (blockIdx.x * blockDim.x + threadIdx.x) >> 6;
    if (r < n) {
        float s = 0;
        for (int j = rp[r] + l; j < rp[r + 1]; j += 64)
            s += v[j] * x[ci[j]];
        for (int d = 32; d; d >>= 1)
            s += __shfl_down(s, d);
        if (!l)
            y[r] = s;
    }
}
__global__ void bfs(const int *rp, const int *ci, int *lv, int cur, int *ch, int n)
{
    int u = blockIdx.x * 256 + threadIdx.x;
    if (u < n && lv[u] == cur)
        for (int e = rp[u]; e < rp[u + 1]; e++) {
            int w = ci[e];
            if (atomicCAS(&lv[w], -1, cur + 1) == -1)
                *ch = 1;
        }
}
__global__ void bfs_frontier(const int *rp, const int *ci, const int *f, int nf, int *nx, int *nn,
                             unsigned *vis)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= nf)
        return;
    int u = f[i];
    for (int e = rp[u]; e < rp[u + 1]; e++) {
        int w = ci[e];
        unsigned b = 1u << (w & 31), o = atomicOr(&vis[w >> 5], b);
        if (!(o & b)) {
            unsigned long long m = __ballot(1);
            int lead = __ffsll(m) - 1, c = __popcll(m), base;
            int l = __lane_id();
            if (l == lead)
                base = atomicAdd(nn, c);
            base = __shfl(base, lead);
            nx[base + __popcll(m & ((1ULL << l) - 1))] = w;
        }
    }
}
__global__ void pagerank(const int *rp, const int *ci, const float *pr, const int *deg, float *o,
                         int n, float d)
{
    int r = blockIdx.x * 256 + threadIdx.x;
    if (r < n) {
        float s = 0;
        for (int j = rp[r]; j < rp[r + 1]; j++) {
            int c = ci[j];
            s += pr[c] / deg[c];
        }
        o[r] = (1.f - d) / n + d * s;
    }
}
__global__ void sssp(const int *rp, const int *ci, const int *w, int *dist, int n)
{
    int u = blockIdx.x * 256 + threadIdx.x;
    if (u < n) {
        int du = dist[u];
        if (du < 0x7fffffff)
            for (int e = rp[u]; e < rp[u + 1]; e++)
                atomicMin(&dist[ci[e]], du + w[e]);
    }
}
