#include "drive.h"
#include "nbody_md.hip"

static void test_nbody()
{
    // 512 terms, each some units in the last place off; forces of both signs cancel, so the error
    // is bounded against the sum of the terms' sizes.
    subject s("nbody");
    const int n = 512;
    const double dt = 0.015625;
    auto p = real<float>(4 * n, 1, -1, 1), v = real<float>(4 * n, 2, -1, 1);
    array<float> dp(p), dv(v), o(4 * n);
    LAUNCH(nbody, n / 256, 256, 0, (float4 *)(float *)dp, (float4 *)(float *)dv,
           (float4 *)(float *)o, n, (float)dt);
    auto speed = dv.host(), place = o.host();
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 4; c++) {
            double sum = 0, size = 0;
            for (int j = 0; j < n && c < 3; j++) {
                double r = 1e-4f;
                for (int k = 0; k < 3; k++)
                    r += ((double)p[4 * j + k] - p[4 * i + k]) * ((double)p[4 * j + k] - p[4 * i + k]);
                double f = p[4 * j + 3] / (r * sqrt(r)) * ((double)p[4 * j + c] - p[4 * i + c]);
                sum += f;
                size += fabs(f);
            }
            double u = v[4 * i + c] + sum * dt, x = p[4 * i + c] + (c < 3 ? u * dt : 0);
            double slack = size * dt * 2e-6 + 1e-6;
            s.that(fabs(speed[4 * i + c] - u) <= slack, "speed %d.%d is %g, expected %g", i, c,
                   speed[4 * i + c], u);
            s.that(fabs(place[4 * i + c] - x) <= slack, "place %d.%d is %g, expected %g", i, c,
                   place[4 * i + c], x);
        }
}

static void test_lj_md()
{
    // Reciprocals and products in double: 1e-13 of the sum of the terms' sizes.
    subject s("lj_md");
    const int n = 300, neighbours = 20;
    const double cut = 2.0;
    auto p = real<double>(4 * n, 3, 0, 2);
    rng r(4);
    auto list = make<int>(n * neighbours, [&](size_t k) {
        return (int)((k % n + 1 + (size_t)r.in(0, n - 2)) % n); // never itself
    });
    array<double> dp(p), df(4 * n);
    array<int> dl(list);
    LAUNCH(lj_md, 2, 256, 0, (double4 *)(double *)dp, (double4 *)(double *)df, dl, neighbours, n,
           cut);
    auto f = df.host();
    for (int i = 0; i < n; i++) {
        double want[4] = {}, size[4] = {};
        for (int j = 0; j < neighbours; j++) {
            const double *a = &p[4 * i], *b = &p[4 * list[j * n + i]];
            double d[3], r2 = 0;
            for (int k = 0; k < 3; k++) {
                d[k] = a[k] - b[k];
                r2 += d[k] * d[k];
            }
            if (r2 >= cut)
                continue;
            double i6 = 1 / (r2 * r2 * r2), g = i6 / r2 * (1.5 * i6 - 2);
            for (int k = 0; k < 3; k++) {
                want[k] += d[k] * g;
                size[k] += fabs(d[k]) * i6 / r2 * (1.5 * i6 + 2);
            }
        }
        for (int k = 0; k < 4; k++)
            s.that(fabs(f[4 * i + k] - want[k]) <= 1e-13 * size[k], "[%d].%d is %.17g, expected %.17g",
                   i, k, f[4 * i + k], want[k]);
    }
}

static void test_kmeans()
{
    subject s("kmeans");
    const int n = 700, k = 7, d = 5;
    auto x = whole<float>(n * d, 5, -100, 100), c = whole<float>(k * d, 6, -100, 100);
    array<float> dx(x), dc(c);
    array<int> m(n);
    LAUNCH(kmeans, 3, 256, 0, dx, dc, m, n, k, d);
    s.equal(m.host(), make<int>(n, [&](size_t i) {
                int best = 0;
                double least = 1e300;
                for (int j = 0; j < k; j++) {
                    double sum = 0;
                    for (int q = 0; q < d; q++)
                        sum += (x[q * n + i] - c[j * d + q]) * (x[q * n + i] - c[j * d + q]);
                    if (sum < least) {
                        least = sum;
                        best = j;
                    }
                }
                return best;
            }));
}

static void test_lud_diag()
{
    // m = L U with whole L (ones on its diagonal) and U with powers of two on its: exact.
    subject s("lud_diag");
    const int n = 40, o = 16;
    rng r(7);
    auto m = whole<float>(n * n, 8, -9, 9);
    auto want = m;
    float l[16][16] = {}, u[16][16] = {};
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            l[i][j] = i == j ? 1 : i > j ? r.in(-2, 2) : 0;
            u[i][j] = i == j ? 1 << r.in(0, 2) : i < j ? r.in(-3, 3) : 0;
        }
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            float sum = 0;
            for (int k = 0; k < 16; k++)
                sum += l[i][k] * u[k][j];
            m[(o + i) * n + o + j] = sum;
            want[(o + i) * n + o + j] = i > j ? l[i][j] : u[i][j];
        }
    array<float> dm(m);
    LAUNCH(lud_diag, 1, 16, 0, dm, n, o);
    s.equal(dm.host(), want);
}

static void test_nw()
{
    // Only the lower left half of the tile is reached by the kernel's one sweep; its other half is
    // LDS that nothing wrote, and so is what follows from it: compare what is defined.
    subject s("nw");
    const int cols = 40, penalty = 3;
    auto ref = whole<int>(17 * cols, 9, -5, 10), it = whole<int>(17 * cols, 10, -20, 20);
    auto want = it;
    array<int> dr(ref), di(it);
    LAUNCH(nw, 1, 16, 0, dr, di, cols, penalty, 0);
    auto got = di.host();
    for (int y = 1; y < 17; y++)
        for (int x = 1; x < 17 && x + y <= 17; x++) {
            int gap = std::max(want[y * cols + x - 1], want[(y - 1) * cols + x]) - penalty;
            want[y * cols + x] = std::max(want[(y - 1) * cols + x - 1] + ref[y * cols + x], gap);
        }
    for (int y = 0; y < 17; y++)
        for (int x = 0; x < cols; x++)
            if (x > 16 || x + y <= 17 || !x || !y)
                s.that(got[y * cols + x] == want[y * cols + x], "[%d][%d] is %d, expected %d", y, x,
                       got[y * cols + x], want[y * cols + x]);
}

static void test_pathfinder()
{
    // The edges of a workgroup's 256 columns are not computed: 256 - 2 it of them are, less where
    // the neighbours' LDS words were never written. Compare the first group's inner columns.
    subject s("pathfinder");
    const int cols = 600, it = 3;
    auto w = whole<int>(it * cols, 11, 0, 9), src = whole<int>(cols, 12, 0, 99);
    array<int> dw(w), ds(src), dr(cols);
    const int width = 256 - 2 * it, groups = (cols + width - 1) / width;
    LAUNCH(pathfinder, groups, 256, 0, dw, ds, dr, cols, it);
    auto got = dr.host();
    auto p = src;
    for (int i = 0; i < it; i++) {
        auto q = p;
        for (int x = 0; x < cols; x++) {
            int left = x ? p[x - 1] : 1 << 30, right = x + 1 < cols ? p[x + 1] : 1 << 30;
            q[x] = std::min(p[x], std::min(left, right)) + w[i * cols + x];
        }
        p = q;
    }
    for (int x = 0; x < cols; x++) {
        // A column is right if its cone of it columns stays in the columns 1..254 of its group, and
        // two groups' overlap holds what either of them stored.
        int in_group = x % width + it;
        bool overlap = x % width < it || x % width >= width - it;
        bool edge = x < 2 * it || x >= cols - 2 * it;
        if (in_group > 2 * it && in_group < 255 - 2 * it && !overlap && !edge)
            s.that(got[x] == p[x], "[%d] is %d, expected %d", x, got[x], p[x]);
    }
}

int main()
{
    test_nbody();
    test_lj_md();
    test_kmeans();
    test_lud_diag();
    test_nw();
    test_pathfinder();
    return drive_end();
}
