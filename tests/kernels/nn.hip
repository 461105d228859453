// Layers of neural networks.
#include <hip/hip_runtime.h>

__global__ void softmax(const float *x, float *y, int n)
{
    __shared__ float s[4];
    const float *r = x + (size_t)blockIdx.x * n;
    float m = -1e30f;
    for (int i = threadIdx.x; i < n; i += 256)
        m = fmaxf(m, r[i]);
    for (int d = 32; d; d >>= 1)
        m = fmaxf(m, __shfl_xor(m, d));
    if ((threadIdx.x & 63) == 0)
        s[threadIdx.x >> 6] = m;
    __syncthreads();
    m = fmaxf(fmaxf(s[0], s[1]), fmaxf(s[2], s[3]));
    __syncthreads();
    float t = 0;
    for (int i = threadIdx.x; i < n; i += 256)
        t += __expf(r[i] - m);
    for (int d = 32; d; d >>= 1)
        t += __shfl_xor(t, d);
    if ((threadIdx.x & 63) == 0)
        s[threadIdx.x >> 6] = t;
    __syncthreads();
    t = s[0] + s[1] + s[2] + s[3];
    for (int i = threadIdx.x; i < n; i += 256)
        y[(size_t)blockIdx.x * n + i] = __expf(r[i] - m) / t;
}
__global__ void layernorm(const float *x, const float *g, const float *b, float *y, int n,
                          float eps)
{
    __shared__ float s[8];
    float a = 0, q = 0;
    for (int i = threadIdx.x; i < n; i += 256) {
        float v = x[blockIdx.x * n + i];
        a += v;
        q += v * v;
    }
    for (int d = 32; d; d >>= 1) {
        a += __shfl_xor(a, d);
        q += __shfl_xor(q, d);
    }
    int w = threadIdx.x >> 6;
    if ((threadIdx.x & 63) == 0) {
        s[w] = a;
        s[4 + w] = q;
    }
    __syncthreads();
    a = (s[0] + s[1] + s[2] + s[3]) / n;
    q = (s[4] + s[5] + s[6] + s[7]) / n - a * a;
    float iv = rsqrtf(q + eps);
    for (int i = threadIdx.x; i < n; i += 256)
        y[blockIdx.x * n + i] = (x[blockIdx.x * n + i] - a) * iv * g[i] + b[i];
}
__global__ void attention(const float *Q, const float *K, const float *V, float *O, int T, int D)
{
    int q = blockIdx.x * 64 + threadIdx.x;
    __shared__ float ks[16][64], vs[16][64];
    float qr[64], o[64], m = -1e30f, l = 0;
    for (int d = 0; d < 64; d++) {
        qr[d] = Q[q * 64 + d];
        o[d] = 0;
    }
    for (int t = 0; t < T; t += 16) {
        for (int i = 0; i < 16; i++) {
            ks[i][threadIdx.x] = K[(t + i) * 64 + threadIdx.x];
            vs[i][threadIdx.x] = V[(t + i) * 64 + threadIdx.x];
        }
        __syncthreads();
        for (int i = 0; i < 16; i++) {
            float s = 0;
            for (int d = 0; d < 64; d++)
                s += qr[d] * ks[i][d];
            float mn = fmaxf(m, s), c = expf(m - mn), p = expf(s - mn);
            l = l * c + p;
            for (int d = 0; d < 64; d++)
                o[d] = o[d] * c + p * vs[i][d];
            m = mn;
        }
        __syncthreads();
    }
    for (int d = 0; d < 64; d++)
        O[q * 64 + d] = o[d] / l;
}
__global__ void gelu_silu_tanh(const float *x, float *y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = 0.5f * v * (1.f + erff(v * 0.70710678f)) + v / (1.f + expf(-v)) + tanhf(v);
    }
}
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
__global__ void rmsnorm_bf16(const __hip_bfloat16 *x, __hip_bfloat16 *y, int n)
{
    float q = 0;
    for (int i = threadIdx.x; i < n; i += 64) {
        float v = __bfloat162float(x[blockIdx.x * n + i]);
        q += v * v;
    }
    for (int d = 32; d; d >>= 1)
        q += __shfl_xor(q, d);
    float r = rsqrtf(q / n + 1e-6f);
    for (int i = threadIdx.x; i < n; i += 64)
        y[blockIdx.x * n + i] = __float2bfloat16(__bfloat162float(x[blockIdx.x * n + i]) * r);
}
__global__ void half_ops(const __half2 *a, const __half2 *b, __half2 *c, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        __half2 v = __hfma2(a[i], b[i], c[i]);
        v = __hadd2(v, h2exp(a[i]));
        v = __hmul2(v, __floats2half2_rn(__half2float(__low2half(a[i])), 1.5f));
        c[i] = v;
    }
}
__global__ void conv3x3(const float *x, const float *w, float *y, int H, int W, int C)
{
    int px = blockIdx.x * 16 + threadIdx.x, py = blockIdx.y * 16 + threadIdx.y, o = blockIdx.z;
    if (px < W && py < H) {
        float s = 0;
        for (int c = 0; c < C; c++)
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    int ix = px + dx, iy = py + dy;
                    if (ix >= 0 && ix < W && iy >= 0 && iy < H)
                        s += x[(c * H + iy) * W + ix] * w[((o * C + c) * 3 + dy + 1) * 3 + dx + 1];
                }
        y[(o * H + py) * W + px] = s > 0 ? s : 0;
    }
}
__global__ void maxpool(const float *x, float *y, int *ix, int W)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float m = x[i * 2];
    int b = 0;
    for (int k = 1; k < 4; k++) {
        float v = x[i * 2 + (k & 1) + (k >> 1) * W];
        if (v > m) {
            m = v;
            b = k;
        }
    }
    y[i] = m;
    ix[i] = b;
}
