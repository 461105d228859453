#include "drive.h"
#include "gemm.hip"

// Whole numbers: sums of products are exact in any order, fused or not.
template <typename T>
static std::vector<T> product(const std::vector<T> &a, const std::vector<T> &b, int m, int n, int k)
{
    std::vector<T> c(m * n);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int l = 0; l < k; l++)
                c[i * n + j] += a[i * k + l] * b[l * n + j];
    return c;
}

static void test_sgemm()
{
    {
        subject s("sgemm_naive");
        const int m = 37, n = 29, k = 43;
        auto a = whole<float>(m * k, 1, -99, 99), b = whole<float>(k * n, 2, -99, 99);
        array<float> da(a), db(b), dc(m * n);
        LAUNCH(sgemm_naive, dim3(2, 3), dim3(16, 16), 0, da, db, dc, m, n, k);
        s.equal(dc.host(), product(a, b, m, n, k));
    }
    {
        subject s("sgemm_tiled");
        const int n = 48;
        auto a = whole<float>(n * n, 3, -99, 99), b = whole<float>(n * n, 4, -99, 99);
        array<float> da(a), db(b), dc(n * n);
        LAUNCH(sgemm_tiled, dim3(3, 3), dim3(16, 16), 0, da, db, dc, n);
        s.equal(dc.host(), product(a, b, n, n, n));
    }
    subject s("sgemm_reg");
    const int n = 128;
    auto a = whole<float>(n * n, 5, -99, 99), b = whole<float>(n * n, 6, -99, 99);
    array<float> da(a), db(b), dc(n * n);
    LAUNCH(sgemm_reg, dim3(1, 1), 256, 0, da, db, dc, n);
    s.equal(dc.host(), product(a, b, n, n, n));
}

static void test_dgemm()
{
    subject s("dgemm_tiled");
    const int n = 32;
    auto a = whole<double>(n * n, 7, -9999, 9999), b = whole<double>(n * n, 8, -9999, 9999);
    auto c = whole<double>(n * n, 9, -9999, 9999), p = product(a, b, n, n, n);
    array<double> da(a), db(b), dc(c);
    LAUNCH(dgemm_tiled, dim3(2, 2), dim3(16, 16), 0, da, db, dc, n, 0.5, -3.0);
    s.equal(dc.host(), make<double>(n * n, [&](size_t i) { return 0.5 * p[i] - 3.0 * c[i]; }));
}

static void test_dots()
{
    {
        subject s("igemm_dot4");
        const int n = 12, rows = 32, columns = 4 * n; // rows of C are 4 n long
        auto a = bits_of<int>(rows * n, 10), b = bits_of<int>(columns * n, 11);
        array<int> da(a), db(b), dc(rows * columns);
        LAUNCH(igemm_dot4, dim3(columns / 16, rows / 16), dim3(16, 16), 0, da, db, dc, n);
        s.equal(dc.host(), make<int>(rows * columns, [&](size_t i) {
                    int sum = 0;
                    for (int k = 0; k < n; k++)
                        for (int byte = 0; byte < 32; byte += 8)
                            sum += (int8_t)(a[i / columns * n + k] >> byte) *
                                   (int8_t)(b[i % columns * n + k] >> byte);
                    return sum;
                }));
    }
    subject s("hgemm_dot2");
    const int n = 24, rows = 16, columns = 2 * n;
    auto a = whole<_Float16>(rows * n * 2, 12, -50, 50);
    auto b = whole<_Float16>(columns * n * 2, 13, -50, 50);
    array<_Float16> da(a), db(b);
    array<float> dc(rows * columns);
    LAUNCH(hgemm_dot2, dim3(columns / 16, rows / 16), dim3(16, 16), 0, (h2 *)(_Float16 *)da,
           (h2 *)(_Float16 *)db, dc, n);
    s.equal(dc.host(), make<float>(rows * columns, [&](size_t i) {
                float sum = 0;
                for (int k = 0; k < 2 * n; k++)
                    sum += (float)a[i / columns * 2 * n + k] * (float)b[i % columns * 2 * n + k];
                return sum;
            }));
}

static void test_packed()
{
    {
        // x is 1, -1, 2 or 0 and the rest small: exact for three turns.
        subject s("hfma_pk");
        const int n = 512, turns = 3;
        const float factors[] = {1, -1, 2, 0};
        auto x = make<_Float16>(2 * n, [&](size_t i) { return (_Float16)factors[i * 7 % 11 % 4]; });
        auto y = whole<_Float16>(2 * n, 14, -60, 60), z = whole<_Float16>(2 * n, 15, -60, 60);
        array<_Float16> dx(x), dy(y), dz(z);
        LAUNCH(hfma_pk, 2, 256, 0, (h2 *)(_Float16 *)dx, (h2 *)(_Float16 *)dy,
               (h2 *)(_Float16 *)dz, turns);
        s.equal(dz.host(), make<_Float16>(2 * n, [&](size_t i) {
                    float v = (float)z[i];
                    for (int k = 0; k < turns; k++)
                        v = v * (float)x[i] + (float)y[i];
                    return (_Float16)v;
                }));
    }
    subject s("pkf32");
    const int n = 512, turns = 2;
    auto x = whole<float>(2 * n, 16, -9, 9), y = whole<float>(2 * n, 17, -99, 99);
    auto z = whole<float>(2 * n, 18, -99, 99);
    array<float> dx(x), dy(y), dz(z);
    LAUNCH(pkf32, 2, 256, 0, (f2 *)(float *)dx, (f2 *)(float *)dy, (f2 *)(float *)dz, turns);
    s.equal(dz.host(), make<float>(2 * n, [&](size_t i) {
                float v = z[i];
                for (int k = 0; k < turns; k++)
                    v = (x[i] * v + y[i]) * x[i] + y[i ^ 1];
                return v;
            }));
}

int main()
{
    test_sgemm();
    test_dgemm();
    test_dots();
    test_packed();
    return drive_end();
}
