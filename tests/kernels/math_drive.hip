#include "drive.h"
#include "math.hip"

// Sums of library functions: each is good to some units in the last place, so a sum is compared
// against the sum of its terms' sizes. Terms that are infinite or NaN must make the sum so.
struct terms {
    double sum = 0, size = 0;
    terms &operator+=(double v)
    {
        sum += v;
        size += fabs(v);
        return *this;
    }
};

template <typename T>
static void compare(subject &s, const std::vector<T> &x, const std::vector<T> &got, double units,
                    terms (*reference)(double))
{
    for (size_t i = 0; i < x.size(); i++) {
        terms t = reference((double)x[i]);
        bool good = std::isfinite(t.sum) ? fabs((double)got[i] - t.sum) <= units * t.size
                                         : subject::close((double)got[i], t.sum, 0, 0);
        s.that(good, "of %.17g is %.17g, expected %.17g", (double)x[i], (double)got[i], t.sum);
    }
}

static void test_double()
{
    const int n = 700;
    const double edges[] = {0.0, -0.0, 1.0, -1.0, 1e-300, -5e-324, 1e5, 709.0, 1e15, INFINITY, NAN};
    {
        subject s("math_d"); // up to 4 units of 2^-52 each, and the sums' own roundings
        auto x = real<double>(n, 1, -20, 20);
        std::copy(std::begin(edges), std::end(edges), x.begin());
        array<double> dx(x), y(n);
        LAUNCH(math_d, 3, 256, 0, dx, y, n);
        compare<double>(s, x, y.host(), 8 * 0x1p-52, [](double v) {
            terms t;
            t += sin(v), t += exp(v), t += log(fabs(v) + 1), t += pow(fabs(v) + 1, 1.7);
            return t;
        });
    }
    // tgamma is the worst of them: 16 units are allowed by OpenCL, whose library this is.
    subject s("math_d2");
    auto x = real<double>(n, 2, -8.5, 20);
    x[0] = 1, x[1] = 2.5, x[2] = 1e-3, x[3] = 3, x[4] = INFINITY, x[5] = NAN;
    array<double> dx(x), y(n);
    LAUNCH(math_d2, 3, 256, 0, dx, y, n);
    compare<double>(s, x, y.host(), 16 * 0x1p-52, [](double v) {
        terms t;
        t += cos(v) * tan(v), t += sqrt(fabs(v)), t += cbrt(v), t += atan2(v, 2), t += erf(v);
        t += tgamma(v), t += floor(v), t += rint(v), t += fmod(v, 3), t += ldexp(v, 3);
        t += 1 / v, t += 1 / sqrt(v + 9);
        return t;
    });
}

static void test_float()
{
    const int n = 700;
    {
        // The kernel's last term stores the exponent in the index of the result (the right side is
        // evaluated first): four values with the exponents 1 to 4 make one launch.
        subject s("math_f");
        const int launches = 60;
        rng r(3);
        auto x = make<float>(4 * launches, [&](size_t i) {
            return (float)(i % 4 == 3 ? r.real(8, 9.9) : ldexp(r.real(1, 2), i % 4));
        });
        array<float> dx(x), y(8 * launches);
        for (int k = 0; k < launches; k++)
            LAUNCH(math_f, 1, 64, 0, dx + 4 * k, y + 8 * k, 4);
        auto all = y.host();
        auto got = make<float>(4 * launches, [&](size_t i) { return all[i / 4 * 8 + 1 + i % 4]; });
        compare<float>(s, x, got, 6 * 0x1p-23, [](double v) {
            terms t;
            int exponent;
            t += sin(v), t += cos(v), t += exp(v), t += log(v + 1), t += pow(v + 1, (double)1.7f);
            t += tan(v), t += atan2(v, 2), t += asin((float)v * 0.1f), t += fmod(v, 3), t += cbrt(v);
            t += exp2(v), t += log2(v), t += rint(v), t += floor(v), t += ceil(v), t += trunc(v);
            t += fmin(v, 1), t += v, t += ldexp(v, 4), t += frexp(v, &exponent), t += hypot(v, 3);
            return t;
        });
    }
    subject s("math_fast"); // the fast forms: 2^-21.4 at worst over this range
    auto x = real<float>(n, 4, 0.01, 3);
    array<float> dx(x), y(n);
    LAUNCH(math_fast, 3, 256, 0, dx, y, n);
    compare<float>(s, x, y.host(), 12 * 0x1p-23, [](double v) {
        terms t;
        t += sin(v), t += cos(v), t += exp(v), t += log(v), t += pow(v, (double)1.3f), t += v / 3;
        t += 1 / v, t += sqrt(v), t += fmin(v, 1), t += sqrt(v), t += v / (double)7.3f;
        return t;
    });
}

static void test_half()
{
    subject s("math_h"); // eight terms, each rounded to f16, and seven sums of them
    const int n = 500;
    auto x = real<_Float16>(n, 5, 0.1, 6);
    array<_Float16> dx(x), y(n);
    LAUNCH(math_h, 2, 256, 0, dx, y, n);
    compare<_Float16>(s, x, y.host(), 6 * 0x1p-11, [](double v) {
        terms t;
        t += sqrt(v), t += sin(v), t += exp2(v), t += 1 / v, t += rint(v), t += v * v + v;
        t += fmax(v, 0.5), t += (short)v;
        return t;
    });
}

static void test_integer_division()
{
    const int n = 800;
    {
        subject s("idiv32");
        const int edges[] = {0, 1, -1, 7, -7, 10, 0x7fffffff, -0x7fffffff - 1, 0x40000000, -1000};
        auto a = bits_of<int>(n, 6), b = bits_of<int>(n, 7);
        for (int i = 0; i < 100; i++) {
            a[i] = edges[i / 10];
            b[i] = edges[i % 10];
        }
        for (int i = 100; i < n; i++)
            b[i] >>= i % 31; // divisors of every size
        for (int i = 0; i < n; i++)
            if (!b[i] || (b[i] == -1 && a[i] == -0x7fffffff - 1)) // undefined in the language
                b[i] = 3;
        array<int> da(a), db(b), q(n), r(n);
        LAUNCH(idiv32, 4, 256, 0, da, db, q, r, n);
        s.equal(r.host(), make<int>(n, [&](size_t i) { return (int)((long)a[i] % b[i]); }));
        s.equal(q.host(), make<int>(n, [&](size_t i) {
                    return (int)(unsigned)((long)a[i] / b[i] + a[i] / 7 + (unsigned)a[i] / 10u);
                }));
    }
    subject s("idiv64");
    const long long edges[] = {0, 1, -1, 1000003, -7, 0x7fffffffffffffff, -0x7fffffffffffffff - 1,
                               0x100000000, 0xffffffff, -1000};
    auto a = bits_of<long long>(n, 8), b = bits_of<long long>(n, 9);
    for (int i = 0; i < 100; i++) {
        a[i] = edges[i / 10];
        b[i] = edges[i % 10];
    }
    for (int i = 100; i < n; i++)
        b[i] >>= i % 63;
    for (int i = 0; i < n; i++)
        if (!b[i] || (b[i] == -1 && a[i] == edges[6]))
            b[i] = 3;
    array<long long> da(a), db(b), q(n);
    array<unsigned long long> r(n);
    LAUNCH(idiv64, 4, 256, 0, da, db, q, r, n);
    s.equal(r.host(), make<unsigned long long>(n, [&](size_t i) {
                return (unsigned long long)a[i] % (unsigned long long)b[i];
            }));
    s.equal(q.host(), make<long long>(n, [&](size_t i) {
                __int128 p = (__int128)a[i] * b[i];
                return (long long)((unsigned long long)(a[i] / b[i]) + a[i] / 1000003 +
                                   (unsigned long long)p + (unsigned long long)(p >> 64));
            }));
}

static void test_divs()
{
    // Correctly rounded by the language's rules; the sum may be fused into nothing: exact.
    subject s("divs");
    const int n = 900;
    rng r(10);
    auto any = [&](double) { // every exponent
        double m = r.real(1, 2);
        return ldexp(m, r.in(-1000, 1000));
    };
    auto a = make<double>(n, any), b = make<double>(n, any);
    auto d = make<float>(n, [&](size_t) { return (float)ldexp(r.real(1, 2), r.in(-140, 120)); });
    auto e = make<float>(n, [&](size_t) { return (float)ldexp(r.real(-2, -1), r.in(-140, 120)); });
    const double edges[] = {0.0, 5e-324, 1.0, 1.7e308, INFINITY, NAN};
    for (int i = 0; i < 36; i++) {
        a[i] = edges[i / 6];
        b[i] = edges[i % 6];
        d[i] = (float)a[i];
        e[i] = (float)-b[i];
    }
    array<double> da(a), db(b), dc(n);
    array<float> dd(d), de(e);
    LAUNCH(divs, 4, 256, 0, da, db, dc, dd, de, n);
    auto same = [&](auto got, auto want, int i) {
        s.that(std::isnan(want) ? std::isnan(got) : got == want, "[%d] is %.17g, expected %.17g", i,
               (double)got, (double)want);
    };
    auto c = dc.host();
    auto f = de.host();
    for (int i = 0; i < n; i++) {
        same(c[i], a[i] / b[i] + sqrt(b[i]), i);
        same(f[i], d[i] / e[i] + sqrtf(d[i]), i);
    }
}

static void test_cvts()
{
    subject s("cvts");
    const int n = 256;
    rng r(11);
    auto a = make<double>(n, [&](size_t) { return r.real(0, 2e9) * (1 + r.in(0, 1) * 1e-6); });
    auto b = make<float>(n, [&](size_t i) { return (float)r.real(0, i % 2 ? 250 : 200); });
    auto c = bits_of<int>(n, 12);
    auto d = bits_of<unsigned long long>(n, 13);
    for (int i = 0; i < 64; i++)
        d[i] = (1ull << i) + (1ull << (i > 24 ? i - 24 : 0)); // ties of the rounding to float
    a[0] = 0, a[1] = 0.999999, a[2] = 2147483647.0, b[0] = 0, b[1] = 0.5f;
    array<double> da(a);
    array<float> db(b);
    array<int> dc(c);
    array<unsigned long long> dd(d);
    array<unsigned char> o(n * 128);
    LAUNCH(cvts, 1, n, 0, da, db, dc, dd, (unsigned char *)o, n);
    auto got = o.host();
    for (int i = 0; i < n; i++) {
        unsigned char want[128];
        memset(want, 0xcd, sizeof want);
        auto put = [&](int at, auto value) { memcpy(want + at, &value, sizeof value); };
        _Float16 half;
        memcpy(&half, (char *)b.data() + 2 * i, 2);
        put(0, (int)a[i]), put(4, (unsigned)a[i]), put(8, (long long)a[i]);
        put(16, (unsigned long long)b[i]), put(24, (float)d[i]), put(32, (double)d[i]);
        put(40, (double)c[i]), put(48, (float)a[i]), put(56, (double)b[i]), put(64, (_Float16)b[i]);
        put(70, (unsigned char)b[i]), put(72, (short)c[i]), put(80, (float)half);
        put(84, (float)((unsigned char *)c.data())[i]), put(88, (float)((signed char *)c.data())[i]);
        for (int k = 0; k < 128; k++)
            s.that(got[i * 128 + k] == want[k] || (std::isnan((float)half) && k >= 80 && k < 84),
                   "item %d, byte %d is %02x, expected %02x", i, k, got[i * 128 + k], want[k]);
    }
}

// The value of an 8-bit float without infinities and negative zero, as gfx942 has them.
static double fnuz(unsigned code, int mantissa_bits, int bias)
{
    int exponent = (code & 127) >> mantissa_bits, fraction = code & ((1 << mantissa_bits) - 1);
    double value = exponent ? ldexp((1 << mantissa_bits) + fraction, exponent - bias - mantissa_bits)
                            : ldexp(fraction, 1 - bias - mantissa_bits);
    return code == 128 ? NAN : code & 128 ? -value : value;
}

// The code next to a value, ties to even; with random bits: cut off after they are added.
static unsigned encode(double v, int mantissa_bits, int bias, const uint32_t *random)
{
    unsigned sign = std::signbit(v) ? 128 : 0, best = 0;
    for (unsigned code = 0; code < 128; code++) {
        double at = fnuz(code, mantissa_bits, bias), was = fnuz(best, mantissa_bits, bias);
        if (random) {
            if (at <= fabs(v))
                best = code;
        } else if (fabs(at - fabs(v)) < fabs(was - fabs(v)) ||
                   (fabs(at - fabs(v)) == fabs(was - fabs(v)) && !(code & 1))) {
            best = code;
        }
    }
    if (random && best < 127) { // the part below the code, as a fraction of the way to the next
        double low = fnuz(best, mantissa_bits, bias), high = fnuz(best + 1, mantissa_bits, bias);
        uint32_t bits = *random >> (32 - 20); // 23 - 3 mantissa bits are dropped
        if ((fabs(v) - low) / (high - low) * 0x1p20 + bits >= 0x1p20)
            best++;
    }
    return best ? sign | best : 0;
}

static void test_fp8()
{
    subject s("fp8cvt");
    const int n = 256;
    auto a = real<float>(2 * n, 14, -200, 200);
    for (int i = 0; i < n; i++)
        a[i] = ldexpf(a[i], -(i % 7)); // down to 1: normal numbers of both formats
    auto o = bits_of<int>(n, 15);
    array<float> da(a), q(n);
    array<int> dout(o);
    LAUNCH(fp8cvt, 1, n, 0, da, dout, q);
    auto got = dout.host();
    auto sum = q.host();
    for (int i = 0; i < n; i++) {
        unsigned p = encode(a[2 * i], 3, 8, NULL) | encode(a[2 * i + 1], 3, 8, NULL) << 8 |
                     encode(a[2 * i], 2, 16, NULL) << 16 | encode(a[2 * i + 1], 2, 16, NULL) << 24;
        uint32_t random = (uint32_t)o[i];
        unsigned want = (p & 0xffff00ffu) | encode(a[i], 3, 8, &random) << 8;
        s.that((unsigned)got[i] == want, "[%d] is %08x, expected %08x (of %g)", i, got[i], want, a[i]);
        double total = fnuz(p & 255, 3, 8) + fnuz(p >> 24, 2, 16);
        s.that(sum[i] == (float)total, "sum %d is %g, expected %g", i, sum[i], total);
    }
}

int main()
{
    test_double();
    test_float();
    test_half();
    test_integer_division();
    test_divs();
    test_cvts();
    if (!gfx90a)
        test_fp8();
    return drive_end();
}
