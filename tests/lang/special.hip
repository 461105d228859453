// Functions of the device's math library beyond those of libm.hip: Bessel and inverse error
// functions, fast variants, directed rounding, results in several parts. References are computed on
// the host in a wider type by series, Newton's method or the host's own library.
#include "sweep.h"

#include <cfenv>

typedef long double wide;
static const wide pi = 3.14159265358979323846264338327950288L;

// sin(pi x) and cos(pi x): the fraction of x is exact.
static wide half_turns(wide x, wide (*f)(wide))
{
    return std::isinf(x) ? NAN : f(pi * fmodl(x, 2));
}
static wide sinpi_w(wide x)
{
    return fmodl(x, 1) == 0 ? copysignl(0, x) : half_turns(x, sinl);
}
static wide cospi_w(wide x)
{
    return fabsl(fmodl(x, 1)) == 0.5L ? 0 : half_turns(x, cosl);
}

// I_n(x) = sum of (x/2)^(2k+n) / (k! (k+n)!), all terms of one sign.
static wide bessel_i(int n, wide x)
{
    wide term = n ? x / 2 : 1, sum = term;
    for (int k = 1; k < 400; k++)
        sum += term *= x * x / 4 / ((wide)k * (k + n));
    return sum;
}
static wide i0_w(wide x)
{
    return bessel_i(0, x);
}
static wide i1_w(wide x)
{
    return bessel_i(1, x);
}

static wide erfcx_w(wide x)
{
    return expl(x * x) * erfcl(x);
}
// The y with f(y) = x, for f(y) = erf(y) or erfc(y), by Newton's method from bisection.
static wide inverse(wide (*f)(wide), wide x, wide slope_sign)
{
    wide low = -14, high = 14;
    for (int i = 0; i < 30; i++) {
        wide mid = (low + high) / 2;
        ((f(mid) < x) == (slope_sign > 0) ? low : high) = mid;
    }
    wide y = (low + high) / 2;
    for (int i = 0; i < 6; i++)
        y -= (f(y) - x) / (slope_sign * 2 / sqrtl(pi) * expl(-y * y));
    return y;
}
static wide erfinv_w(wide x)
{
    return fabsl(x) == 1 ? copysignl(INFINITY, x) : fabsl(x) > 1 ? NAN : inverse(erfl, x, 1);
}
static wide erfcinv_w(wide x)
{
    return x == 0 ? INFINITY : x == 2 ? -INFINITY : x < 0 || x > 2 ? NAN : inverse(erfcl, x, -1);
}
static wide normcdf_w(wide x)
{
    return erfcl(-x / sqrtl(2)) / 2;
}
static wide normcdfinv_w(wide x)
{
    return -sqrtl(2) * erfcinv_w(2 * x);
}
static wide rsqrt_w(wide x)
{
    return 1 / sqrtl(x);
}
static wide rcbrt_w(wide x)
{
    return 1 / cbrtl(x);
}

// (ROCm 7.2's cyl_bessel_i1 takes the square root of x, not of |x|, and is NaN below -8 in double.)
// X(function, reference, lowest x, highest x, units of the last place, absolute bound; single's)
#define UNARY(X)                                                                                   \
    X(j0, j0l, -90, 90, 16, 4e-7)                                                                  \
    X(j1, j1l, -90, 90, 16, 4e-7)                                                                  \
    X(y0, y0l, 0.01, 90, 16, 4e-7)                                                                 \
    X(y1, y1l, 0.01, 90, 16, 4e-7)                                                                 \
    X(cyl_bessel_i0, i0_w, -80, 80, 8, 0)                                                          \
    X(cyl_bessel_i1, i1_w, -7.9, 80, 8, 0)                                                         \
    X(erfcx, erfcx_w, -5, 20, 16, 0)                                                               \
    X(erfinv, erfinv_w, -1, 1, 16, 0)                                                              \
    X(erfcinv, erfcinv_w, 0.001, 2, 16, 1e-7)                                                      \
    X(normcdf, normcdf_w, -10, 6, 16, 0)                                                           \
    X(normcdfinv, normcdfinv_w, 0.001, 1, 16, 1e-7)                                                \
    X(sinpi, sinpi_w, -70, 70, 4, 0)                                                               \
    X(cospi, cospi_w, -70, 70, 4, 0)                                                               \
    X(exp10, exp10l, -30, 30, 4, 0)                                                                \
    X(rsqrt, rsqrt_w, 0.001, 1e6, 2, 0)                                                            \
    X(rcbrt, rcbrt_w, -1e6, 1e6, 2, 0)                                                             \
    X(nearbyint, nearbyintl, -1e6, 1e6, 0, 0)

#define KERNEL(name, ...)                                                                          \
    __global__ void k_##name##f(const float *x, float *y, int n)                                   \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n)                                                                                 \
            y[i] = name##f(x[i]);                                                                  \
    }                                                                                              \
    __global__ void k_##name(const double *x, double *y, int n)                                    \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n)                                                                                 \
            y[i] = name(x[i]);                                                                     \
    }
UNARY(KERNEL)

template <typename T>
static void unary(const char *name, void (*k)(const T *, T *, int), wide (*f)(wide), double low,
                  double high, double ulps, double zero)
{
    subject s(name);
    std::vector<T> x = real<T>(2048, 17, low, high);
    if (low == std::floor(low) && high == std::floor(high))
        for (T v : {(T)low, (T)high, (T)0, (T)-0.0, (T)1, (T)0.5, (T)0.25})
            if (v >= (T)low && v <= (T)high)
                x.push_back(v);
    array<T> in(x), out(x.size());
    LAUNCH(k, (x.size() + 255) / 256, 256, 0, (const T *)in, (T *)out, (int)x.size());
    std::vector<T> y = out.host();
    double worst = 0;
    for (size_t i = 0; i < x.size(); i++)
        check<T, wide>(s, y[i], f((wide)x[i]), ulps, zero, &worst, x[i], 0);
    printf("%s: %.3g of %g\n", name, worst, ulps);
}

// Bessel functions of an order, and functions with several arguments.
template <typename T> struct several {
    T jn, yn, hypot3, hypot4, inv_hypot, inv3, inv4, fma, next, scaled, rem, mod, whole, frac;
    T sine, cosine, sine_pi, cosine_pi;
    int quo, exponent, log;
    long long near;
};

#define SEVERAL(T, f)                                                                              \
    __global__ void several_of_##T(const T *a, const T *b, several<T> *o)                          \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x, n = i % 9;                                  \
        T x = a[i], y = b[i];                                                                      \
        several<T> r;                                                                              \
        r.jn = jn##f(n, x);                                                                        \
        r.yn = yn##f(n, fabs##f(x) + 1);                                                           \
        r.hypot3 = norm3d##f(x, y, x - y);                                                         \
        r.hypot4 = norm4d##f(x, y, x - y, x + y);                                                  \
        r.inv_hypot = rhypot##f(x, y);                                                             \
        r.inv3 = rnorm3d##f(x, y, x - y);                                                          \
        r.inv4 = rnorm4d##f(x, y, x - y, x + y);                                                   \
        r.fma = fma##f(x, y, -(x * y));                                                            \
        r.next = nextafter##f(x, y);                                                               \
        r.scaled = ldexp##f(x, n * 7 - 20);                                                        \
        r.rem = remquo##f(x, y, &r.quo);                                                           \
        r.mod = frexp##f(y, &r.exponent);                                                          \
        r.frac = modf##f(x, &r.whole);                                                             \
        r.log = ilogb##f(x);                                                                       \
        r.near = llrint##f(x * 1000);                                                              \
        sincos##f(x, &r.sine, &r.cosine);                                                          \
        sincospi##f(x, &r.sine_pi, &r.cosine_pi);                                                  \
        o[i] = r;                                                                                  \
    }
SEVERAL(float, f)
SEVERAL(double, )

template <typename T>
static void several_functions(const char *name, void (*k)(const T *, const T *, several<T> *))
{
    subject s(name);
    const size_t n = 1024;
    const double eps = std::numeric_limits<T>::epsilon();
    std::vector<T> a = real<T>(n, 1, -40, 40), b = real<T>(n, 2, -8, 8);
    array<T> x(a), y(b);
    array<several<T>> out(n);
    LAUNCH(k, n / 256, 256, 0, (const T *)x, (const T *)y, (several<T> *)out);
    std::vector<several<T>> got = out.host();
    for (size_t i = 0; i < n; i++) {
        const several<T> &g = got[i];
        T u = a[i], v = b[i], whole = 0, exact = u * v;
        T less = u - v, more = u + v;
        wide p = u, q = v, square = p * p + q * q + (wide)less * less;
        int order = (int)(i % 9), quotient = 0, exponent = 0;
        auto near = [&](const char *what, wide have, wide want, double units) {
            wide bound = units * eps * std::max(fabsl(want), (wide)1e-3);
            s.that(fabsl(have - want) <= bound, "%s(%.17g, %.17g) is %.17Lg, expected %.17Lg", what,
                   (double)u, (double)v, have, want);
        };
        auto same = [&](const char *what, wide have, wide want) {
            s.that(have == want, "%s(%.17g, %.17g) is %.17Lg, expected %.17Lg", what, (double)u,
                   (double)v, have, want);
        };
        // The headers' recurrence from J0 and J1 is good only where the order is below |x|.
        if (std::fabs(u) > order)
            s.that(fabsl(g.jn - jnl(order, p)) <= 64 * eps, "jn(%d, %g) is %.17g, expected %.17Lg",
                   order, (double)u, (double)g.jn, jnl(order, p));
        wide yn_want = ynl(order, (wide)(std::fabs(u) + 1));
        s.that(fabsl(g.yn - yn_want) <= 64 * eps * std::max(fabsl(yn_want), (wide)1),
               "yn(%d, |%g| + 1) is %.17g, expected %.17Lg", order, (double)u, (double)g.yn,
               yn_want);
        near("norm3d", g.hypot3, sqrtl(square), 3);
        near("norm4d", g.hypot4, sqrtl(square + (wide)more * more), 3);
        near("rhypot", g.inv_hypot, 1 / hypotl(p, q), 3);
        near("rnorm3d", g.inv3, 1 / sqrtl(square), 3);
        near("rnorm4d", g.inv4, 1 / sqrtl(square + (wide)more * more), 3);
        // u*v - round(u*v) is what a fused operation gives, and an unfused one not.
        same("fma", g.fma, std::fma(u, v, -exact));
        same("nextafter", g.next, std::nextafter(u, v));
        same("ldexp", g.scaled, std::ldexp(u, order * 7 - 20));
        same("remquo", g.rem, std::remquo(u, v, &quotient));
        same("remquo's quotient", g.quo & 7, quotient & 7);
        s.that((g.quo < 0) == (quotient < 0) || !(quotient & 7), "sign of the quotient of %g / %g",
               (double)u, (double)v);
        same("frexp", g.mod, std::frexp(v, &exponent));
        same("frexp's exponent", g.exponent, exponent);
        same("modf", g.frac, std::modf(u, &whole));
        same("modf's whole part", g.whole, whole);
        same("ilogb", g.log, std::ilogb(u));
        same("llrint", (wide)g.near, (wide)std::llrint(u * (T)1000));
        near("sincos, sine", g.sine, sinl(p), 4);
        near("sincos, cosine", g.cosine, cosl(p), 4);
        near("sincospi, sine", g.sine_pi, sinpi_w(p), 4);
        near("sincospi, cosine", g.cosine_pi, cospi_w(p), 4);
    }
}

// The fast variants promise an absolute or a relative error only.
struct fast {
    float sine, cosine, tangent, exp, exp10, log, log2, log10, pow, div, rsqrt, sat, s2, c2;
};
__global__ void fast_functions(const float *a, const float *b, fast *o)
{
    int i = threadIdx.x;
    float x = a[i], y = b[i];
    fast r;
    r.sine = __sinf(x);
    r.cosine = __cosf(x);
    r.tangent = __tanf(x * 0.4f);
    r.exp = __expf(x);
    r.exp10 = __exp10f(x);
    r.log = __logf(y);
    r.log2 = __log2f(y);
    r.log10 = __log10f(y);
    r.pow = __powf(y, x);
    r.div = __fdividef(x, y);
    r.rsqrt = __frsqrt_rn(y);
    r.sat = __saturatef(x);
    __sincosf(x, &r.s2, &r.c2);
    o[i] = r;
}

static void fast_variants()
{
    subject s("fast variants");
    const size_t n = 512;
    std::vector<float> a = real<float>(n, 3, -3.1, 3.1), b = real<float>(n, 4, 0.01, 50);
    array<float> x(a), y(b);
    array<fast> out(n);
    LAUNCH(fast_functions, 1, n, 0, (const float *)x, (const float *)y, (fast *)out);
    std::vector<fast> got = out.host();
    for (size_t i = 0; i < n; i++) {
        const fast &g = got[i];
        double p = a[i], q = b[i];
        auto near = [&](const char *what, double have, double want, double absolute,
                        double relative) {
            s.that(subject::close(have, want, absolute, relative), "%s(%g, %g) is %.9g, not %.9g",
                   what, p, q, have, want);
        };
        near("__sinf", g.sine, sin(p), 4e-6, 0);
        near("__cosf", g.cosine, cos(p), 4e-6, 0);
        near("__sincosf, sine", g.s2, sin(p), 4e-6, 0);
        near("__sincosf, cosine", g.c2, cos(p), 4e-6, 0);
        near("__tanf", g.tangent, tan((double)(a[i] * 0.4f)), 1e-5, 2e-5);
        near("__expf", g.exp, exp(p), 0, 2e-6);
        near("__exp10f", g.exp10, pow(10, p), 0, 4e-6);
        near("__logf", g.log, log(q), 4e-7, 1e-6);
        near("__log2f", g.log2, log2(q), 4e-7, 1e-6);
        near("__log10f", g.log10, log10(q), 4e-7, 1e-6);
        near("__powf", g.pow, pow(q, p), 0, 1e-5);
        near("__fdividef", g.div, p / q, 0, 1e-6);
        near("__frsqrt_rn", g.rsqrt, 1 / sqrt(q), 0, 4e-7);
        near("__saturatef", g.sat, p < 0 ? 0 : p > 1 ? 1 : p, 0, 0);
    }
}

// Operations that round in a given direction; the host's are done in the mode asked for.
#define ROUNDED(X, T, p, fma_name)                                                                 \
    X(0, __##p##add_rn(x, y), x + y)                                                               \
    X(1, __##p##add_rd(x, y), x + y)                                                               \
    X(2, __##p##add_ru(x, y), x + y)                                                               \
    X(3, __##p##add_rz(x, y), x + y)                                                               \
    X(4, __##p##sub_rn(x, y), x - y)                                                               \
    X(5, __##p##sub_rd(x, y), x - y)                                                               \
    X(6, __##p##sub_ru(x, y), x - y)                                                               \
    X(7, __##p##sub_rz(x, y), x - y)                                                               \
    X(8, __##p##mul_rn(x, y), x *y)                                                                \
    X(9, __##p##mul_rd(x, y), x *y)                                                                \
    X(10, __##p##mul_ru(x, y), x *y)                                                               \
    X(11, __##p##mul_rz(x, y), x *y)                                                               \
    X(12, fma_name##_rn(x, y, z), std::fma(x, y, z))                                               \
    X(13, fma_name##_rd(x, y, z), std::fma(x, y, z))                                               \
    X(14, fma_name##_ru(x, y, z), std::fma(x, y, z))                                               \
    X(15, fma_name##_rz(x, y, z), std::fma(x, y, z))
enum { ROUNDED_OPS = 16 };

#define DEVICE_OP(k, device, host) o[k] = device;
#define HOST_OP(k, device, host)                                                                   \
    case k:                                                                                        \
        return host;
#define DIRECTED(T, p, fma_name)                                                                   \
    __global__ void directed_##T(const T *a, const T *b, const T *c, T *out)                       \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        T x = a[i], y = b[i], z = c[i], *o = out + i * ROUNDED_OPS;                                \
        ROUNDED(DEVICE_OP, T, p, fma_name)                                                         \
    }                                                                                              \
    __attribute__((noinline)) static T on_host(int k, volatile T *a, volatile T *b, volatile T *c) \
    {                                                                                              \
        T x = *a, y = *b, z = *c;                                                                  \
        switch (k) {                                                                               \
            ROUNDED(HOST_OP, T, p, fma_name)                                                       \
        }                                                                                          \
        return 0;                                                                                  \
    }
DIRECTED(float, f, __fmaf)
DIRECTED(double, d, __fma)

template <typename T>
static void directed(const char *name, void (*k)(const T *, const T *, const T *, T *))
{
    subject s(name);
    const size_t n = 1024;
    std::vector<T> a = real<T>(n, 5, -1, 1), b = real<T>(n, 6, -1e4, 1e4), c = real<T>(n, 7, -9, 9);
    for (size_t i = 0; i < n; i += 5)
        b[i] = std::ldexp(b[i], -std::numeric_limits<T>::digits); // far apart: only the sticky bit
    array<T> x(a), y(b), z(c), out(n * ROUNDED_OPS);
    LAUNCH(k, n / 256, 256, 0, (const T *)x, (const T *)y, (const T *)z, (T *)out);
    std::vector<T> got = out.host();
    static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    for (int op = 0; op < ROUNDED_OPS; op++)
        for (size_t i = 0; i < n; i++) {
            fesetround(modes[op % 4]);
            T want = on_host(op, &a[i], &b[i], &c[i]);
            fesetround(FE_TONEAREST);
            s.that(got[i * ROUNDED_OPS + op] == want, "operation %d of %a, %a, %a is %a, not %a", op,
                   (double)a[i], (double)b[i], (double)c[i], (double)got[i * ROUNDED_OPS + op],
                   (double)want);
        }
}

int main()
{
#define RUN(name, ref, low, high, ulps, zero)                                                        \
    unary<float>(#name "f", k_##name##f, ref, low, high, ulps, zero);                                \
    unary<double>(#name, k_##name, ref, low, high, ulps, (zero)*1e-8);
    UNARY(RUN)
    several_functions<float>("several arguments, float", several_of_float);
    several_functions<double>("several arguments, double", several_of_double);
    fast_variants();
    directed<float>("directed rounding, float", directed_float);
    directed<double>("directed rounding, double", directed_double);
    return drive_end();
}
