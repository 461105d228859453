#include "tune/numeric.h"

#include <math.h>

static const double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;

double rp_exact_log(double x)
{
    int exponent;
    double m = frexp(x, &exponent), f, square, sum = 0;

    if (m < 0.70710678118654752) {
        m *= 2;
        exponent--;
    }
    f = (m - 1) / (m + 1);
    square = f * f;
    for (int i = 23; i >= 1; i -= 2)
        sum = sum * square + 1.0 / i;
    return exponent * ln2_high + (2 * f * sum + exponent * ln2_low);
}

double rp_exp(double x)
{
    double turns, rest, sum = 1;

    if (x < -745)
        return 0;
    if (x > 709)
        return HUGE_VAL;
    turns = floor(x / (ln2_high + ln2_low) + 0.5);
    rest = (x - turns * ln2_high) - turns * ln2_low;
    for (int i = 14; i >= 1; i--)
        sum = 1 + sum * rest / i;
    return ldexp(sum, (int)turns);
}

double rp_normal_density(double z)
{
    return 0.39894228040143267794 * rp_exp(-0.5 * z * z);
}

/** Of the tail above z >= 2, in densities: Laplace's continued fraction. */
static double mills(double z)
{
    double below = z;

    for (int i = 50; i >= 1; i--)
        below = z + i / below;
    return 1 / below;
}

double rp_normal_below(double z)
{
    double term = z, sum = z;

    if (z < -2)
        return rp_normal_density(z) * mills(-z);
    if (z > 2)
        return 1 - rp_normal_density(z) * mills(z);
    for (int i = 3; i < 60; i += 2) {
        term *= z * z / i;
        sum += term;
    }
    return 0.5 + rp_normal_density(z) * sum;
}

/** Of x >= 0: half the angle again and again, then its series. */
static double arc_tangent(double x)
{
    double sum = 0, factor = 1, square;

    for (; x > 0.1; factor *= 2)
        x /= 1 + sqrt(1 + x * x);
    square = x * x;
    for (int i = 17; i >= 1; i -= 2)
        sum = 1.0 / i - sum * square;
    return factor * x * sum;
}

/* A finite sum over the powers of the angle's cosine for a whole number of degrees. */
double rp_student_above(double t, size_t freedom)
{
    enum { AS_NORMAL = 2000 };
    static const double half_pi = 1.57079632679489661923;
    const double n = (double)freedom, cosine2 = n / (n + t * t), sine = sqrt(1 - cosine2);
    double term = freedom % 2 ? sqrt(cosine2) : 1, sum = 0;

    if (freedom > AS_NORMAL || !isfinite(t))
        return isfinite(t) ? 1 - rp_normal_below(t) : 0;
    for (size_t i = freedom % 2 ? 3 : 2; i <= freedom; i += 2) {
        sum += term;
        term *= cosine2 * (double)(i - 1) / (double)i;
    }
    sum *= sine;
    if (freedom % 2)
        sum = (arc_tangent(t / sqrt(n)) + sum) / half_pi;
    return sum < 1 ? (1 - sum) / 2 : 0;
}

double rp_expected_improvement(double mean, double sd, double best)
{
    const double z = (best - mean) / sd;

    if (z < -2) /* the two terms nearly cancel: take the density out of their difference */
        return sd * rp_normal_density(z) * (1 + z * mills(-z));
    return sd * (rp_normal_density(z) + z * rp_normal_below(z));
}
