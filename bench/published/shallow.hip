// Two time steps of shallow water equations (Runge-Kutta of fourth order, finite differences, some viscosity) on SIZE x SIZE
// floats with a row of points around: the slopes of a five-point stencil over three fields, updates of three fields, and
// borders by one row of work-items.
#include "common.h"

#include <algorithm>

struct fields {
    float *h, *hu, *hv;
};

struct fluxes {
    float h, hu, hv;
};

static __device__ fluxes at(const fields &f, int i)
{
    return {f.h[i], f.hu[i], f.hv[i]};
}

static __device__ float depth(const fluxes &s)
{
    return fmaxf(s.h, 1e-6f);
}

static __device__ fluxes along_x(const fluxes &s)
{
    return {s.hu, s.hu * (s.hu / depth(s)) + 4.905f * s.h * s.h, s.hu * (s.hv / depth(s))};
}

static __device__ fluxes along_y(const fluxes &s)
{
    return {s.hv, s.hv * (s.hu / depth(s)), s.hv * (s.hv / depth(s)) + 4.905f * s.h * s.h};
}

static __device__ bool inside(int n, int *i)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    *i = y * (n + 2) + x;
    return x <= n && y <= n;
}

__global__ void slopes(int n, fields f, fields slope)
{
    int i;
    if (!inside(n, &i))
        return;
    const fluxes c = at(f, i), e = at(f, i + 1), w = at(f, i - 1), s = at(f, i + n + 2), t = at(f, i - n - 2);
    const fluxes xe = along_x(e), xw = along_x(w), ys = along_y(s), yt = along_y(t);
    const float speed = sqrtf(9.81f * depth(c)) + fabsf(c.hu / depth(c)) + fabsf(c.hv / depth(c)), v = 0.02f * speed;
    slope.h[i] = v * (e.h + w.h + s.h + t.h - 4 * c.h) - 0.5f * (xe.h - xw.h + ys.h - yt.h);
    slope.hu[i] = v * (e.hu + w.hu + s.hu + t.hu - 4 * c.hu) - 0.5f * (xe.hu - xw.hu + ys.hu - yt.hu);
    slope.hv[i] = v * (e.hv + w.hv + s.hv + t.hv - 4 * c.hv) - 0.5f * (xe.hv - xw.hv + ys.hv - yt.hv);
}

__global__ void stage(int n, fields to, fields f, fields slope, float step)
{
    int i;
    if (!inside(n, &i))
        return;
    to.h[i] = f.h[i] + step * slope.h[i];
    to.hu[i] = f.hu[i] + step * slope.hu[i];
    to.hv[i] = f.hv[i] + step * slope.hv[i];
}

__global__ void last(int n, fields f, fields a, fields b, fields c, fields d, float step)
{
    int i;
    if (!inside(n, &i))
        return;
    f.h[i] += (a.h[i] + 2 * b.h[i] + 2 * c.h[i] + d.h[i]) * (step / 6);
    f.hu[i] += (a.hu[i] + 2 * b.hu[i] + 2 * c.hu[i] + d.hu[i]) * (step / 6);
    f.hv[i] += (a.hv[i] + 2 * b.hv[i] + 2 * c.hv[i] + d.hv[i]) * (step / 6);
}

static __device__ void mirror(fields f, int to, int from, float hu, float hv)
{
    f.h[to] = f.h[from];
    f.hu[to] = hu * f.hu[from];
    f.hv[to] = hv * f.hv[from];
}

__global__ void borders(int n, fields f)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x, pitch = n + 2;
    if (t >= n)
        return;
    mirror(f, (t + 1) * pitch, (t + 1) * pitch + 1, -1, 1);
    mirror(f, (t + 1) * pitch + n + 1, (t + 1) * pitch + n, -1, 1);
    mirror(f, t + 1, pitch + t + 1, 1, -1);
    mirror(f, (n + 1) * pitch + t + 1, n * pitch + t + 1, 1, -1);
    if (t == 0) {
        mirror(f, 0, pitch + 1, -1, -1);
        mirror(f, n + 1, pitch + n, -1, -1);
        mirror(f, (n + 1) * pitch, n * pitch + 1, -1, -1);
        mirror(f, (n + 1) * pitch + n + 1, n * pitch + n, -1, -1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4)
        usage("shallow SIZE GROUP_X GROUP_Y");
    const int n = atoi(argv[1]);
    const size_t all = (size_t)(n + 2) * (n + 2);
    const dim3 group(atoi(argv[2]), atoi(argv[3])), groups((n + group.x - 1) / group.x, (n + group.y - 1) / group.y);
    const auto make = [&] {
        fields f = {device<float>(all), device<float>(all), device<float>(all)};
        for (float *each : {f.h, f.hu, f.hv})
            OK(hipMemset(each, 0, all * 4));
        return f;
    };
    const fields f = make(), next = make(), k[4] = {make(), make(), make(), make()};
    for (int time = 0; time < 2; time++) {
        for (int order = 0; order < 4; order++) {
            const fields from = order ? next : f;
            borders<<<(n + 255) / 256, 256>>>(n, from);
            slopes<<<groups, group>>>(n, from, k[order]);
            if (order < 3)
                stage<<<groups, group>>>(n, next, f, k[order], order < 2 ? 0.5f : 1.0f);
        }
        last<<<groups, group>>>(n, f, k[0], k[1], k[2], k[3], 1.0f);
    }
    finish();
}
