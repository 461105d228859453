// Fractals, transforms, random numbers, sorting, search, hashing and bit operations.
#include <hip/hip_runtime.h>

__global__ void mandelbrot(int *o, int w, int h, float x0, float y0, float s, int mi)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float cr = x0 + x * s, ci = y0 + y * s, a = 0, b = 0;
    int i = 0;
    while (i < mi) {
        float t = a * a - b * b + cr;
        b = 2 * a * b + ci;
        a = t;
        if (a * a + b * b > 4.f)
            break;
        i++;
    }
    o[y * w + x] = i;
}
__global__ void mandel_d(unsigned char *o, int w, double x0, double y0, double s, int mi)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    double cr = x0 + x * s, ci = y0 + y * s, a = 0, b = 0;
    int i = 0;
    for (; i < mi && a * a + b * b <= 4.0; i++) {
        double t = a * a - b * b + cr;
        b = 2 * a * b + ci;
        a = t;
    }
    o[y * w + x] = (unsigned char)(i * 255 / mi);
}
__global__ void fft_r4(float2 *d, int n, int st)
{
    int t = blockIdx.x * 256 + threadIdx.x;
    int k = t % st;
    float an = -6.2831853f * k / (4 * st), s, c;
    __sincosf(an, &s, &c);
    float2 a = d[t], b = d[t + n / 4], e = d[t + n / 2], f = d[t + 3 * n / 4];
    float2 bb = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
    float2 u = make_float2(a.x + e.x, a.y + e.y), v = make_float2(a.x - e.x, a.y - e.y),
           w = make_float2(bb.x + f.x, bb.y + f.y), z = make_float2(bb.y - f.y, f.x - bb.x);
    int o = (t / st) * st * 4 + k;
    d[o] = make_float2(u.x + w.x, u.y + w.y);
    d[o + st] = make_float2(v.x + z.x, v.y + z.y);
    d[o + 2 * st] = make_float2(u.x - w.x, u.y - w.y);
    d[o + 3 * st] = make_float2(v.x - z.x, v.y - z.y);
}
__global__ void fft_lds(float2 *g)
{
    __shared__ float2 s[512];
    int t = threadIdx.x;
    s[t] = g[blockIdx.x * 512 + t];
    s[t + 256] = g[blockIdx.x * 512 + t + 256];
    for (int h = 1; h < 512; h <<= 1) {
        __syncthreads();
        int k = t & (h - 1), i = ((t & ~(h - 1)) << 1) + k;
        float sn, cs;
        sincosf(-3.14159265f * k / h, &sn, &cs);
        float2 a = s[i], b = s[i + h];
        float2 w = make_float2(b.x * cs - b.y * sn, b.x * sn + b.y * cs);
        s[i] = make_float2(a.x + w.x, a.y + w.y);
        s[i + h] = make_float2(a.x - w.x, a.y - w.y);
    }
    __syncthreads();
    g[blockIdx.x * 512 + t] = s[t];
    g[blockIdx.x * 512 + t + 256] = s[t + 256];
}
__global__ void xorshift(unsigned long long *s, float *o, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    unsigned long long x = s[i];
    for (int k = 0; k < n; k++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        o[k * 1024 + i] = (unsigned)(x >> 32) * 2.3283064e-10f;
    }
    s[i] = x;
}
__global__ void philox(uint4 *o, unsigned k0, unsigned k1)
{
    unsigned i = blockIdx.x * 256 + threadIdx.x;
    uint4 c = make_uint4(i, 0, 0, 0);
#pragma unroll
    for (int r = 0; r < 10; r++) {
        unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x,
                 h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
        c = make_uint4(h1 ^ c.y ^ k0, l1, h0 ^ c.w ^ k1, l0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    o[i] = c;
}
__global__ void mc_pi(unsigned long long *cnt, unsigned seed, int n)
{
    unsigned x = seed + blockIdx.x * 256 + threadIdx.x;
    int c = 0;
    for (int i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        float a = x * 2.3283064e-10f;
        x = x * 1664525u + 1013904223u;
        float b = x * 2.3283064e-10f;
        c += a * a + b * b < 1.f;
    }
    unsigned long long m = c;
    for (int d = 32; d; d >>= 1)
        m += __shfl_down(m, d);
    if (!(threadIdx.x & 63))
        atomicAdd(cnt, m);
}
__global__ void blackscholes(const float *S, const float *X, const float *T, float *C, float *P,
                             float r, float v, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        float s = S[i], x = X[i], t = T[i], q = sqrtf(t),
              d1 = (logf(s / x) + (r + 0.5f * v * v) * t) / (v * q), d2 = d1 - v * q,
              n1 = normcdff(d1), n2 = normcdff(d2), e = expf(-r * t);
        C[i] = s * n1 - x * e * n2;
        P[i] = x * e * (1 - n2) - s * (1 - n1);
    }
}
__global__ void bitonic(unsigned *d, int j, int k)
{
    unsigned i = blockIdx.x * 256 + threadIdx.x, x = i ^ j;
    if (x > i) {
        unsigned a = d[i], b = d[x];
        if (((i & k) == 0) == (a > b)) {
            d[i] = b;
            d[x] = a;
        }
    }
}
__global__ void bitonic_lds(unsigned long long *d)
{
    __shared__ unsigned long long s[512];
    int t = threadIdx.x;
    s[t] = d[blockIdx.x * 512 + t];
    __syncthreads();
    for (int k = 2; k <= 512; k <<= 1)
        for (int j = k >> 1; j; j >>= 1) {
            int x = t ^ j;
            if (x > t) {
                unsigned long long a = s[t], b = s[x];
                if (((t & k) == 0) ? a > b : a < b) {
                    s[t] = b;
                    s[x] = a;
                }
            }
            __syncthreads();
        }
    d[blockIdx.x * 512 + t] = s[t];
}
__global__ void radix_count(const unsigned *k, unsigned *h, int sh, int n)
{
    __shared__ unsigned c[16];
    if (threadIdx.x < 16)
        c[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * 256 + threadIdx.x;
    unsigned d = i < n ? (k[i] >> sh) & 15 : 16;
    for (unsigned b = 0; b < 16; b++) {
        unsigned long long m = __ballot(d == b);
        if (m && (threadIdx.x & 63) == 0)
            atomicAdd(&c[b], __popcll(m));
    }
    __syncthreads();
    if (threadIdx.x < 16)
        h[threadIdx.x * gridDim.x + blockIdx.x] = c[threadIdx.x];
}
__global__ void strsearch(const char *t, int n, const char *p, int m, int *res)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i + m <= n) {
        int j = 0;
        while (j < m && t[i + j] == p[j])
            j++;
        if (j == m)
            atomicMin(res, i);
    }
}
__global__ void sha_like(const unsigned *in, unsigned *out, int r)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    unsigned a = in[i * 8], b = in[i * 8 + 1], c = in[i * 8 + 2], d = in[i * 8 + 3],
             e = in[i * 8 + 4], f = in[i * 8 + 5], g = in[i * 8 + 6], h = in[i * 8 + 7];
    for (int k = 0; k < r; k++) {
        unsigned S1 = __builtin_rotateright32(e, 6) ^ __builtin_rotateright32(e, 11) ^
                      __builtin_rotateright32(e, 25),
                 ch = (e & f) ^ (~e & g), t1 = h + S1 + ch + k * 0x428a2f98u,
                 S0 = __builtin_rotateright32(a, 2) ^ __builtin_rotateright32(a, 13) ^
                      __builtin_rotateright32(a, 22),
                 mj = (a & b) ^ (a & c) ^ (b & c);
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + S0 + mj;
    }
    out[i * 2] = a + b + c + d;
    out[i * 2 + 1] = e + f + g + h;
}
__global__ void crc32(const unsigned char *d, unsigned *o, const unsigned *tab, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    unsigned c = ~0u;
    for (int k = 0; k < n; k++)
        c = tab[(c ^ d[i * n + k]) & 255] ^ (c >> 8);
    o[i] = ~c;
}
__global__ void bits(const unsigned long long *x, unsigned *o, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    unsigned long long v = x[i];
    o[i] = __popcll(v) + __clzll(v) + __ffsll(v) + __brev((unsigned)v) +
           __byte_perm((unsigned)v, (unsigned)(v >> 32), 0x3175) + __mul24((int)v, 3) +
           __usad((unsigned)v, 5, 6) + __funnelshift_l((unsigned)v, 7, n) +
           __bitextract_u32((unsigned)v, 3, 9);
}
