// Particles, clustering, small dense and dynamic-programming kernels.
#include <hip/hip_runtime.h>

__global__ void nbody(const float4 *p, float4 *v, float4 *o, int n, float dt)
{
    __shared__ float4 s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 b = p[i];
    float ax = 0, ay = 0, az = 0;
    for (int t = 0; t < n; t += 256) {
        s[threadIdx.x] = p[t + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 256; j++) {
            float dx = s[j].x - b.x, dy = s[j].y - b.y, dz = s[j].z - b.z,
                  r = dx * dx + dy * dy + dz * dz + 1e-4f, q = rsqrtf(r), f = s[j].w * q * q * q;
            ax += dx * f;
            ay += dy * f;
            az += dz * f;
        }
        __syncthreads();
    }
    float4 u = v[i];
    u.x += ax * dt;
    u.y += ay * dt;
    u.z += az * dt;
    v[i] = u;
    o[i] = make_float4(b.x + u.x * dt, b.y + u.y * dt, b.z + u.z * dt, b.w);
}
__global__ void lj_md(const double4 *p, double4 *f, const int *nl, int nn, int n, double cut)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    double4 a = p[i];
    double fx = 0, fy = 0, fz = 0;
    for (int j = 0; j < nn; j++) {
        double4 b = p[nl[j * n + i]];
        double dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z, r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < cut) {
            double i2 = 1.0 / r2, i6 = i2 * i2 * i2, g = i2 * i6 * (1.5 * i6 - 2.0);
            fx += dx * g;
            fy += dy * g;
            fz += dz * g;
        }
    }
    f[i] = make_double4(fx, fy, fz, 0);
}
__global__ void kmeans(const float *x, const float *c, int *m, int n, int k, int d)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        float best = 3.4e38f;
        int bi = 0;
        for (int j = 0; j < k; j++) {
            float s = 0;
            for (int q = 0; q < d; q++) {
                float t = x[q * n + i] - c[j * d + q];
                s += t * t;
            }
            if (s < best) {
                best = s;
                bi = j;
            }
        }
        m[i] = bi;
    }
}
__global__ void lud_diag(float *m, int n, int o)
{
    __shared__ float s[16][16];
    int t = threadIdx.x;
    for (int i = 0; i < 16; i++)
        s[i][t] = m[(o + i) * n + o + t];
    __syncthreads();
    for (int i = 0; i < 15; i++) {
        if (t > i) {
            for (int j = 0; j < i; j++)
                s[t][i] -= s[t][j] * s[j][i];
            s[t][i] /= s[i][i];
        }
        __syncthreads();
        if (t > i)
            for (int j = 0; j < i + 1; j++)
                s[i + 1][t] -= s[i + 1][j] * s[j][t];
        __syncthreads();
    }
    for (int i = 0; i < 16; i++)
        m[(o + i) * n + o + t] = s[i][t];
}
__global__ void nw(const int *ref, int *it, int cols, int pen, int b)
{
    __shared__ int t[17][17];
    int i = threadIdx.x;
    t[i + 1][0] = it[(b * 16 + i + 1) * cols];
    t[0][i + 1] = it[i + 1];
    if (!i)
        t[0][0] = it[0];
    __syncthreads();
    for (int m = 0; m < 16; m++) {
        if (i <= m) {
            int x = i + 1, y = m - i + 1;
            t[y][x] =
                max(t[y - 1][x - 1] + ref[y * cols + x], max(t[y][x - 1] - pen, t[y - 1][x] - pen));
        }
        __syncthreads();
    }
    for (int y = 0; y < 16; y++)
        it[(b * 16 + y + 1) * cols + i + 1] = t[y + 1][i + 1];
}
__global__ void pathfinder(const int *w, const int *s, int *r, int cols, int it)
{
    __shared__ int p[256], q[256];
    int t = threadIdx.x, x = blockIdx.x * (256 - 2 * it) + t - it;
    p[t] = x >= 0 && x < cols ? s[x] : 1 << 30;
    __syncthreads();
    for (int i = 0; i < it; i++) {
        if (t > i && t < 255 - i && x >= 0 && x < cols)
            q[t] = min(p[t], min(p[t - 1], p[t + 1])) + w[i * cols + x];
        __syncthreads();
        p[t] = q[t];
        __syncthreads();
    }
    if (x >= 0 && x < cols)
        r[x] = p[t];
}
