// Stencils and image filters.
#include <hip/hip_runtime.h>

__global__ void stencil2d(const float *a, float *b, int w, int h, float c0, float c1)
{
    __shared__ float t[18][18];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    for (int j = threadIdx.y; j < 18; j += 16)
        for (int i = threadIdx.x; i < 18; i += 16) {
            int gx = min(max((int)(blockIdx.x * 16 + i) - 1, 0), w - 1),
                gy = min(max((int)(blockIdx.y * 16 + j) - 1, 0), h - 1);
            t[j][i] = a[gy * w + gx];
        }
    __syncthreads();
    int i = threadIdx.x + 1, j = threadIdx.y + 1;
    if (x < w && y < h)
        b[y * w + x] = c0 * t[j][i] + c1 * (t[j - 1][i] + t[j + 1][i] + t[j][i - 1] + t[j][i + 1]);
}
__global__ void stencil3d7(const double *a, double *b, int nx, int ny, int nz)
{
    int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1;
    if (x < nx - 1 && y < ny - 1) {
        double lo = a[y * nx + x], mid = a[(ny + y) * nx + x];
        for (int z = 1; z < nz - 1; z++) {
            double hi = a[((z + 1) * ny + y) * nx + x];
            size_t p = (size_t)(z * ny + y) * nx + x;
            b[p] = -6.0 * mid + lo + hi + a[p - 1] + a[p + 1] + a[p - nx] + a[p + nx];
            lo = mid;
            mid = hi;
        }
    }
}
__global__ void hotspot(const float *p, const float *ti, float *to, int g, float cap, float rx,
                        float ry, float rz)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    int i = y * g + x, N = y ? i - g : i, S = y < g - 1 ? i + g : i, W = x ? i - 1 : i,
        E = x < g - 1 ? i + 1 : i;
    float t = ti[i];
    to[i] = t + cap * (p[i] + (ti[S] + ti[N] - 2.f * t) * ry + (ti[E] + ti[W] - 2.f * t) * rx +
                       (80.f - t) * rz);
}
__global__ void box_filter(const uchar4 *in, uchar4 *out, int w, int h, int r)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= w || y >= h)
        return;
    int a = 0, b = 0, c = 0, n = 0;
    for (int dy = -r; dy <= r; dy++)
        for (int dx = -r; dx <= r; dx++) {
            int X = x + dx, Y = y + dy;
            if ((unsigned)X < (unsigned)w && (unsigned)Y < (unsigned)h) {
                uchar4 v = in[Y * w + X];
                a += v.x;
                b += v.y;
                c += v.z;
                n++;
            }
        }
    out[y * w + x] = make_uchar4(a / n, b / n, c / n, 255);
}
__global__ void sobel(const unsigned char *in, unsigned char *out, int w, int h)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1)
        return;
    int p = y * w + x;
    int gx = in[p - w + 1] + 2 * in[p + 1] + in[p + w + 1] - in[p - w - 1] - 2 * in[p - 1] -
             in[p + w - 1],
        gy = in[p + w - 1] + 2 * in[p + w] + in[p + w + 1] - in[p - w - 1] - 2 * in[p - w] -
             in[p - w + 1];
    float m = sqrtf((float)(gx * gx + gy * gy));
    out[p] = (unsigned char)fminf(m, 255.f);
}
__global__ void bilateral(const float *in, float *o, int w, int h, float ss, float sr)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float c = in[y * w + x], s = 0, t = 0;
    for (int j = -3; j <= 3; j++)
        for (int i = -3; i <= 3; i++) {
            float v = in[min(max(y + j, 0), h - 1) * w + min(max(x + i, 0), w - 1)],
                  e = __expf(-(i * i + j * j) * ss - (v - c) * (v - c) * sr);
            s += e * v;
            t += e;
        }
    o[y * w + x] = s / t;
}
