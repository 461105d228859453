// What the tests of the math library share: inputs over every exponent, and comparisons with a
// reference of a wider type.
#ifndef SWEEP_H
#define SWEEP_H

#include "../kernels/drive.h"

#include <limits>

// Every exponent with both signs and two mantissas, then numbers of everyday size, then specials.
template <typename T, typename U> static std::vector<T> sweep(int mantissa_bits, int exponents)
{
    std::vector<T> v;
    rng r(42);
    auto bits = [&](U u) {
        T t;
        memcpy(&t, &u, sizeof t);
        v.push_back(t);
    };
    U top = (U)1 << (sizeof(U) * 8 - 1), mask = ((U)1 << mantissa_bits) - 1;
    int step = exponents > 256 ? 5 : 1;
    for (int e = 0; e < exponents; e += step)
        for (U sign : {(U)0, top}) {
            bits(sign | (U)e << mantissa_bits | ((U)r.u64() & mask));
            if (step == 1)
                bits(sign | (U)e << mantissa_bits);
        }
    for (int i = 0; i < 256; i++)
        v.push_back((T)r.real(-2, 2));
    for (int i = 0; i < 256; i++)
        v.push_back((T)r.real(-200, 200));
    for (U sign : {(U)0, top})
        for (U u : {(U)0, (U)1, mask, mask + 1, ((U)(exponents - 1) << mantissa_bits) - 1,
                    (U)(exponents - 1) << mantissa_bits, (U)(exponents - 1) << mantissa_bits | 1,
                    ((U)(exponents - 1) << mantissa_bits) | (mask ^ mask >> 1)})
            bits(sign | u);
    for (double d : {0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 10.0, 0.1}) {
        v.push_back((T)d);
        v.push_back((T)-d);
    }
    return v;
}

// Checks one result against a wider one, and keeps the largest error seen.
template <typename T, typename W>
static void check(subject &s, T got, W want, double ulps, double zero, double *worst, T a, T b)
{
    const int digits = std::numeric_limits<T>::digits, least = std::numeric_limits<T>::min_exponent;
    W error;
    if (std::isnan(want) || std::isnan(got)) {
        s.that(std::isnan(want) && std::isnan(got), "(%.17g, %.17g) is %.17g, expected %.17g",
               (double)a, (double)b, (double)got, (double)want);
        return;
    }
    W largest = (W)std::numeric_limits<T>::max();
    if (std::isinf((T)want) || std::isinf(got)) { // near the edge either side of it is near enough
        bool edge = std::fabs(want) >= largest * (1 - (W)ulps * std::ldexp((W)1, 1 - digits));
        s.that((edge && std::fabs((W)got) >= largest * (W)0.99999 && (got > 0) == (want > 0)),
               "(%.17g, %.17g) is %.17g, expected %.17g", (double)a, (double)b, (double)got,
               (double)want);
        return;
    }
    int e = 0;
    std::frexp(want, &e);
    error = std::fabs((W)got - want) / std::ldexp((W)1, std::max(e, least) - digits);
    bool near = error <= (W)ulps || std::fabs((W)got - want) <= (W)zero;
    if (std::fabs((W)got - want) > (W)zero && (double)error > *worst)
        *worst = (double)error;
    s.that(near, "(%.17g, %.17g) is %.17g, expected %.17g: %g units of the last place", (double)a,
           (double)b, (double)got, (double)want, (double)error);
}

template <typename T, typename W>
static void one(const char *name, void (*k)(const T *, T *, int), W (*f)(W),
                const std::vector<T> &x, double ulps, double zero)
{
    subject s(name);
    array<T> in(x), out(x.size());
    LAUNCH(k, (x.size() + 255) / 256, 256, 0, (const T *)in, (T *)out, (int)x.size());
    std::vector<T> y = out.host();
    double worst = 0;
    for (size_t i = 0; i < x.size(); i++)
        check<T, W>(s, y[i], f((W)x[i]), ulps, zero, &worst, x[i], 0);
    printf("%s: %.3g of %g\n", name, worst, ulps);
}

template <typename T, typename W>
static void two(const char *name, void (*k)(const T *, const T *, T *, int), W (*f)(W, W),
                const std::vector<T> &a, const std::vector<T> &b, double ulps, double zero)
{
    subject s(name);
    array<T> x(a), z(b), out(a.size());
    LAUNCH(k, (a.size() + 255) / 256, 256, 0, (const T *)x, (const T *)z, (T *)out, (int)a.size());
    std::vector<T> y = out.host();
    double worst = 0;
    for (size_t i = 0; i < a.size(); i++)
        check<T, W>(s, y[i], f((W)a[i], (W)b[i]), ulps, zero, &worst, a[i], b[i]);
    printf("%s: %.3g of %g\n", name, worst, ulps);
}

#endif
