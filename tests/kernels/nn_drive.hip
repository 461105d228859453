#include "drive.h"
#include "nn.hip"

static double round_bf16(double v)
{
    float f = (float)v;
    uint32_t b;
    memcpy(&b, &f, 4);
    b = (b + 0x7fff + (b >> 16 & 1)) & 0xffff0000u;
    memcpy(&f, &b, 4);
    return f;
}

static void test_norms()
{
    {
        // __expf is good to some 1e-6 for arguments of this size; its sum and quotient likewise.
        subject s("softmax");
        const int rows = 3, n = 777;
        auto x = real<float>(rows * n, 1, -10, 10);
        array<float> dx(x), y(rows * n);
        LAUNCH(softmax, rows, 256, 0, dx, y, n);
        s.near(y.host(), make<double>(rows * n, [&](size_t i) {
                   double most = -1e30, sum = 0;
                   const float *r = &x[i / n * n];
                   for (int k = 0; k < n; k++)
                       most = fmax(most, r[k]);
                   for (int k = 0; k < n; k++)
                       sum += exp(r[k] - most);
                   return exp(x[i] - most) / sum;
               }),
               0, 1e-5);
    }
    {
        // The variance is a difference of sums of 500 terms: 1e-4 of values of size 1.
        subject s("layernorm");
        const int rows = 2, n = 500;
        auto x = real<float>(rows * n, 2, -1, 3), g = real<float>(n, 3, -1, 1);
        auto b = real<float>(n, 4, -1, 1);
        array<float> dx(x), dg(g), db(b), y(rows * n);
        LAUNCH(layernorm, rows, 256, 0, dx, dg, db, y, n, 1e-5f);
        s.near(y.host(), make<double>(rows * n, [&](size_t i) {
                   double sum = 0, square = 0;
                   const float *r = &x[i / n * n];
                   for (int k = 0; k < n; k++) {
                       sum += r[k];
                       square += (double)r[k] * r[k];
                   }
                   double mean = sum / n;
                   return (x[i] - mean) / sqrt(square / n - mean * mean + 1e-5) * g[i % n] +
                          b[i % n];
               }),
               1e-5, 1e-5);
    }
    // bfloat16 results: one unit of 2^-8, where the last rounding may go either way.
    subject s("rmsnorm_bf16");
    const int rows = 2, n = 200;
    auto x = real<double>(rows * n, 5, -4, 4);
    std::vector<uint16_t> bits(rows * n);
    for (int i = 0; i < rows * n; i++) {
        float f = (float)(x[i] = round_bf16(x[i]));
        uint32_t w;
        memcpy(&w, &f, 4);
        bits[i] = w >> 16;
    }
    array<uint16_t> dx(bits), y(rows * n);
    LAUNCH(rmsnorm_bf16, rows, 64, 0, (__hip_bfloat16 *)(uint16_t *)dx,
           (__hip_bfloat16 *)(uint16_t *)y, n);
    auto got = y.host();
    auto value = make<float>(rows * n, [&](size_t i) {
        uint32_t w = (uint32_t)got[i] << 16;
        float f;
        memcpy(&f, &w, 4);
        return f;
    });
    s.near(value, make<double>(rows * n, [&](size_t i) {
               double square = 0;
               for (int k = 0; k < n; k++)
                   square += x[i / n * n + k] * x[i / n * n + k];
               return round_bf16(x[i] / sqrt(square / n + 1e-6));
           }),
           0, 0x1p-7);
}

static void test_attention()
{
    subject s("attention");
    const int queries = 64, keys = 32, d = 64;
    auto q = real<float>(queries * d, 6, -.5, .5), k = real<float>(keys * d, 7, -.5, .5);
    auto v = real<float>(keys * d, 8, -1, 1);
    array<float> dq(q), dk(k), dv(v), o(queries * d);
    LAUNCH(attention, 1, 64, 0, dq, dk, dv, o, keys, d);
    std::vector<double> want(queries * d);
    for (int i = 0; i < queries; i++) {
        double total = 0;
        for (int t = 0; t < keys; t++) {
            double dot = 0;
            for (int c = 0; c < d; c++)
                dot += (double)q[i * d + c] * k[t * d + c];
            total += exp(dot);
            for (int c = 0; c < d; c++)
                want[i * d + c] += exp(dot) * v[t * d + c];
        }
        for (int c = 0; c < d; c++)
            want[i * d + c] /= total;
    }
    s.near(o.host(), want, 1e-5, 1e-5); // averages of values below 1
}

static void test_elementwise()
{
    {
        subject s("gelu_silu_tanh");
        const int n = 700;
        auto x = real<float>(n, 9, -12, 12);
        array<float> dx(x), y(n);
        LAUNCH(gelu_silu_tanh, 3, 256, 0, dx, y, n);
        s.near(y.host(), make<double>(n, [&](size_t i) {
                   double t = x[i];
                   return 0.5 * t * (1 + erf(t * (double)0.70710678f)) + t / (1 + exp(-t)) + tanh(t);
               }),
               5e-6, 2e-6);
    }
    subject s("half_ops"); // three roundings to f16 and an exponential: 4 units of 2^-11
    const int n = 500;
    auto a = whole<_Float16>(2 * n, 10, -3, 3), b = whole<_Float16>(2 * n, 11, -9, 9);
    auto c = whole<_Float16>(2 * n, 12, -9, 9);
    array<_Float16> da(a), db(b), dc(c);
    LAUNCH(half_ops, 2, 256, 0, (__half2 *)(_Float16 *)da, (__half2 *)(_Float16 *)db,
           (__half2 *)(_Float16 *)dc, n);
    s.near(dc.host(), make<double>(2 * n, [&](size_t i) {
               double t = (double)a[i] * (double)b[i] + (double)c[i] + exp((double)a[i]);
               return t * (i % 2 ? 1.5 : (double)a[i]);
           }),
           0.12, 0x1p-9); // exp(3) is 20: a rounding of it is up to 2^-7, times 3
}

static void test_images()
{
    {
        subject s("conv3x3");
        const int h = 19, w = 35, c = 3, out = 2;
        auto x = whole<float>(c * h * w, 13, -20, 20), k = whole<float>(out * c * 9, 14, -9, 9);
        array<float> dx(x), dk(k), y(out * h * w);
        LAUNCH(conv3x3, dim3(3, 2, out), dim3(16, 16), 0, dx, dk, y, h, w, c);
        s.equal(y.host(), make<float>(out * h * w, [&](size_t i) {
                    int px = i % w, py = i / w % h, o = i / w / h;
                    float sum = 0;
                    for (int q = 0; q < c; q++)
                        for (int t = 0; t < 9; t++) {
                            int ix = px + t % 3 - 1, iy = py + t / 3 - 1;
                            if (ix >= 0 && ix < w && iy >= 0 && iy < h)
                                sum += x[(q * h + iy) * w + ix] * k[(o * c + q) * 9 + t];
                        }
                    return sum > 0 ? sum : 0;
                }));
    }
    subject s("maxpool"); // a row of windows; equal values: the first counts
    const int n = 3 * 100, w = 700;
    auto x = whole<float>(2 * n + w + 1, 15, -3, 3);
    array<float> dx(x), y(n);
    array<int> index(n);
    LAUNCH(maxpool, 3, 100, 0, dx, y, index, w);
    auto window = [&](size_t i, int k) { return x[2 * i + k % 2 + k / 2 * w]; };
    auto best = make<int>(n, [&](size_t i) {
        int b = 0;
        for (int k = 1; k < 4; k++)
            if (window(i, k) > window(i, b))
                b = k;
        return b;
    });
    s.equal(index.host(), best);
    s.equal(y.host(), make<float>(n, [&](size_t i) { return window(i, best[i]); }));
}

int main()
{
    test_norms();
    test_attention();
    test_elementwise();
    test_images();
    return drive_end();
}
