#include "drive.h"
#include "vadd.hip"

static void test_vadd()
{
    subject s("vadd");
    const int n = 1003; // the last workgroup is partly idle
    auto a = real<float>(n, 1, -1e6, 1e6), b = real<float>(n, 2, -1e3, 1e3);
    const float edges[] = {0.f, -0.f, INFINITY, -INFINITY, NAN, 1e-45f, -1e-45f, 3.4028235e38f};
    for (int i = 0; i < 64; i++) {
        a[i] = edges[i / 8];
        b[i] = edges[i % 8];
    }
    array<float> da(a), db(b), dc(n + 21);
    LAUNCH(vadd, 8, 128, 0, da, db, dc, n);
    auto c = dc.host();
    for (int i = 0; i < n; i++) {
        float want = a[i] + b[i];
        s.that(std::isnan(want) ? std::isnan(c[i]) : !memcmp(&want, &c[i], 4),
               "%g + %g is %g, expected %g", a[i], b[i], c[i], want);
    }
    uint32_t untouched[21];
    memset(untouched, 0xcd, sizeof untouched);
    s.that(!memcmp(&c[n], untouched, sizeof untouched), "elements after the %dth were written", n);
}

static void test_saxpy()
{
    subject s("saxpy");
    const size_t n = 5000; // more than work-items: each makes several turns
    auto x = whole<float>(n, 3, -1000, 1000), y = whole<float>(n, 4, -1000, 1000);
    array<float> dx(x), dy(y);
    LAUNCH(saxpy, 7, 96, 0, 0.25f, dx, dy, n);
    s.equal(dy.host(), make<float>(n, [&](size_t i) { return 0.25f * x[i] + y[i]; }));
}

static void test_triad4()
{
    subject s("triad4");
    const size_t n = 4 * 256 * 3;
    auto a = real<float>(n, 5, -10, 10), b = real<float>(n, 6, -10, 10);
    array<float> da(a), db(b), dc(n);
    LAUNCH(triad4, 3, 256, 0, (float4 *)(float *)da, (float4 *)(float *)db, (float4 *)(float *)dc,
           1.7f);
    // Rounded once when the compiler fuses multiply and add, twice when it does not.
    auto c = dc.host();
    for (size_t i = 0; i < n; i++) {
        float fused = fmaf(1.7f, b[i], a[i]);
        volatile float product = 1.7f * b[i];
        s.that(c[i] == fused || c[i] == a[i] + product, "[%zu] is %.9g, expected %.9g", i, c[i],
               fused);
    }
}

static void test_stream_copy_nt()
{
    subject s("stream_copy_nt");
    const size_t n = 1024 * 3;
    auto a = bits_of<uint64_t>(n, 7); // bit patterns: a copy must keep signalling NaNs too
    array<uint64_t> da(a), dc(n);
    LAUNCH(stream_copy_nt, 3, 256, 0, (const double *)(uint64_t *)da, (double *)(uint64_t *)dc);
    s.equal(dc.host(), a);
}

int main()
{
    test_vadd();
    test_saxpy();
    test_triad4();
    test_stream_copy_nt();
    return drive_end();
}
