#include "drive.h"
#include "stencil.hip"

// Inputs are whole numbers and coefficients are dyadic where results must be exact.
static int clip(int v, int low, int high)
{
    return v < low ? low : v > high ? high : v;
}

static void test_stencil2d()
{
    subject s("stencil2d");
    const int w = 37, h = 27;
    auto a = whole<float>(w * h, 1, -100, 100);
    array<float> da(a), db(w * h);
    LAUNCH(stencil2d, dim3(3, 2), dim3(16, 16), 0, da, db, w, h, 0.5f, 0.125f);
    auto at = [&](int x, int y) { return a[clip(y, 0, h - 1) * w + clip(x, 0, w - 1)]; };
    s.equal(db.host(), make<float>(w * h, [&](size_t i) {
                int x = i % w, y = i / w;
                return 0.5f * at(x, y) +
                       0.125f * (at(x, y - 1) + at(x, y + 1) + at(x - 1, y) + at(x + 1, y));
            }));
}

static void test_stencil3d7()
{
    subject s("stencil3d7");
    const int nx = 41, ny = 13, nz = 7;
    auto a = whole<double>(nx * ny * nz, 2, -100, 100);
    std::vector<double> b(nx * ny * nz, -1);
    array<double> da(a), db(b);
    LAUNCH(stencil3d7, dim3(2, 2), dim3(32, 8), 0, da, db, nx, ny, nz);
    for (int z = 1; z < nz - 1; z++)
        for (int y = 1; y < ny - 1; y++)
            for (int x = 1; x < nx - 1; x++) {
                const double *p = &a[(z * ny + y) * nx + x];
                b[p - &a[0]] = -6 * *p + p[1] + p[-1] + p[nx] + p[-nx] + p[nx * ny] + p[-nx * ny];
            }
    s.equal(db.host(), b);
}

static void test_hotspot()
{
    subject s("hotspot");
    const int g = 48;
    auto p = whole<float>(g * g, 3, 0, 50), t = whole<float>(g * g, 4, 20, 120);
    array<float> dp(p), dt(t), o(g * g);
    LAUNCH(hotspot, dim3(3, 3), dim3(16, 16), 0, dp, dt, o, g, 0.5f, 0.25f, 0.125f, 0.0625f);
    s.equal(o.host(), make<float>(g * g, [&](size_t i) {
                int x = i % g, y = i / g;
                auto at = [&](int u, int v) { return t[clip(v, 0, g - 1) * g + clip(u, 0, g - 1)]; };
                return t[i] + 0.5f * (p[i] + (at(x, y + 1) + at(x, y - 1) - 2 * t[i]) * 0.125f +
                                      (at(x + 1, y) + at(x - 1, y) - 2 * t[i]) * 0.25f +
                                      (80 - t[i]) * 0.0625f);
            }));
}

static void test_box_filter()
{
    subject s("box_filter");
    const int w = 39, h = 29, r = 2;
    rng q(5);
    auto in = make<uchar4>(w * h, [&](size_t) {
        unsigned v = q.u32();
        return make_uchar4(v, v >> 8, v >> 16, v >> 24);
    });
    array<uchar4> di(in), o(w * h);
    LAUNCH(box_filter, dim3(3, 2), dim3(16, 16), 0, di, o, w, h, r);
    s.equal(o.host(), make<uchar4>(w * h, [&](size_t i) {
                int sum[3] = {}, count = 0;
                for (int y = (int)i / w - r; y <= (int)i / w + r; y++)
                    for (int x = (int)i % w - r; x <= (int)i % w + r; x++)
                        if (x >= 0 && x < w && y >= 0 && y < h) {
                            sum[0] += in[y * w + x].x;
                            sum[1] += in[y * w + x].y;
                            sum[2] += in[y * w + x].z;
                            count++;
                        }
                return make_uchar4(sum[0] / count, sum[1] / count, sum[2] / count, 255);
            }));
}

static void test_sobel()
{
    subject s("sobel");
    const int w = 35, h = 33;
    auto in = bits_of<unsigned char>(w * h, 6);
    std::vector<unsigned char> want(w * h, 7);
    array<unsigned char> di(in), o(want);
    LAUNCH(sobel, dim3(3, 3), dim3(16, 16), 0, di, o, w, h);
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int gx = 0, gy = 0;
            for (int k = -1; k <= 1; k++) {
                gx += (2 - k * k) * (in[(y + k) * w + x + 1] - in[(y + k) * w + x - 1]);
                gy += (2 - k * k) * (in[(y + 1) * w + x + k] - in[(y - 1) * w + x + k]);
            }
            int m = (int)sqrt((double)(gx * gx + gy * gy)); // exact: the sum is below 2^24
            want[y * w + x] = m > 255 ? 255 : m;
        }
    s.equal(o.host(), want);
}

static void test_bilateral()
{
    // 49 terms of __expf, each a few units in the last place off, in a ratio of sums.
    subject s("bilateral");
    const int w = 32, h = 16;
    auto in = real<float>(w * h, 7, 0, 1);
    array<float> di(in), o(w * h);
    LAUNCH(bilateral, dim3(2, 1), dim3(16, 16), 0, di, o, w, h, 0.1f, 4.f);
    s.near(o.host(), make<double>(w * h, [&](size_t i) {
               double sum = 0, total = 0, c = in[i];
               for (int y = -3; y <= 3; y++)
                   for (int x = -3; x <= 3; x++) {
                       double v = in[clip((int)i / w + y, 0, h - 1) * w +
                                     clip((int)i % w + x, 0, w - 1)];
                       double e = exp(-(x * x + y * y) * 0.1 - (v - c) * (v - c) * 4.0);
                       sum += e * v;
                       total += e;
                   }
               return sum / total;
           }),
           0, 3e-6);
}

int main()
{
    test_stencil2d();
    test_stencil3d7();
    test_hotspot();
    test_box_filter();
    test_sobel();
    test_bilateral();
    return drive_end();
}
