#include "base/stats.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* --- medians ---------------------------------------------------------------------------------- */

static int compare_numbers(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

void rp_sort_numbers(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_numbers);
}

double rp_median_of_sorted(const double *sorted, size_t count)
{
    if (count == 0)
        return NAN;
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

double rp_median(double *values, size_t count)
{
    rp_sort_numbers(values, count);
    return rp_median_of_sorted(values, count);
}

enum { MOST_ORDERED = 1000 };

/** Of more samples than anybody takes, only the first ones are sorted. */
static size_t sort_some(const double *samples, size_t count, double *to)
{
    const size_t n = count < MOST_ORDERED ? count : MOST_ORDERED;

    memcpy(to, samples, n * sizeof *to);
    rp_sort_numbers(to, n);
    return n;
}

double rp_samples_median(const double *samples, size_t count)
{
    double order[MOST_ORDERED];

    return rp_median_of_sorted(order, sort_some(samples, count, order));
}

/* Each sample is below the true median as often as above it, so the number of those below is
 * binomial. */
struct rp_interval rp_samples_interval(const double *samples, size_t count)
{
    double order[MOST_ORDERED];
    const size_t n = sort_some(samples, count, order);
    /* The term is as good as 0 beyond 1000 samples. */
    double term = ldexp(1, -(int)n), below = term;
    size_t at = 0;

    while (at + 1 < n - at - 1) {
        const double more = term * (double)(n - at) / (double)(at + 1);

        if (2 * (below + more) > 0.05)
            break;
        term = more;
        below += term;
        at++;
    }
    return (struct rp_interval){
        .low = order[at], .high = order[n - 1 - at], .confidence = 1 - 2 * below};
}

/* E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927. */
struct rp_interval rp_share_interval(uint64_t part, uint64_t whole)
{
    const double z = 1.959963984540054; /* 2.5 % of the normal distribution is above. */
    const double n = (double)whole, p = (double)part / n;
    const double middle = (p + z * z / (2 * n)) / (1 + z * z / n);
    const double half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n);

    return (struct rp_interval){.low = part == 0 ? 0 : middle - half,
                                .high = part == whole ? 1 : middle + half,
                                .confidence = 0.95};
}

/* --- logarithm, exponential and distributions from the four operations and square roots ---- */

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

static double normal_density(double z)
{
    return 0.39894228040143267794 * rp_exp(-0.5 * z * z);
}

/** Computes the tail above z >= 2, divided by the density, by Laplace's continued fraction. */
static double mills(double z)
{
    double below = z;

    for (int i = 50; i >= 1; i--)
        below = z + i / below;
    return 1 / below;
}

/** Computes how much of the standard normal distribution is below z. The tail loses few digits. */
static double normal_below(double z)
{
    double term = z, sum = z;

    if (z < -2)
        return normal_density(z) * mills(-z);
    if (z > 2)
        return 1 - normal_density(z) * mills(z);
    for (int i = 3; i < 60; i += 2) {
        term *= z * z / i;
        sum += term;
    }
    return 0.5 + normal_density(z) * sum;
}

/** Computes it for x >= 0: the angle is halved again and again, then its series converges. */
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

/* For a whole number of degrees this is a finite sum over the powers of the angle's cosine. */
double rp_student_above(double t, size_t freedom)
{
    enum { AS_NORMAL = 2000 };
    static const double half_pi = 1.57079632679489661923;
    const double n = (double)freedom, cosine2 = n / (n + t * t), sine = sqrt(1 - cosine2);
    double term = freedom % 2 ? sqrt(cosine2) : 1, sum = 0;

    if (freedom > AS_NORMAL || !isfinite(t))
        return isfinite(t) ? 1 - normal_below(t) : 0;
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

    /* The two terms nearly cancel here, so the density is taken out of their difference. */
    if (z < -2)
        return sd * normal_density(z) * (1 + z * mills(-z));
    return sd * (normal_density(z) + z * normal_below(z));
}

/* --- Student's t with any freedom, by the C library's functions ---------------------------- */

static double away_from_0(double x)
{
    return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* Evaluates the continued fraction of the incomplete beta function by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / away_from_0(1 - (a + b) * x / (a + 1)), h = d;

    for (int i = 1; i < 1000; i++) {
        const double m = i;
        const double even = m * (b - m) * x / ((a - 1 + 2 * m) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 1 + 2 * m));
        double step;

        d = 1 / away_from_0(1 + even * d);
        c = away_from_0(1 + even / c);
        h *= d * c;
        d = 1 / away_from_0(1 + odd * d);
        c = away_from_0(1 + odd / c);
        step = d * c;
        h *= step;
        if (fabs(step - 1) < 1e-14)
            break;
    }
    return h;
}

static double beta_share(double a, double b, double x)
{
    double front;

    if (!(x > 0))
        return 0;
    if (x >= 1)
        return 1;
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double rp_student_two_sided_p(double t, double degrees)
{
    return isinf(t) ? 0 : beta_share(degrees / 2, 0.5, degrees / (degrees + t * t));
}

double rp_student_quantile(double alpha, double degrees)
{
    double low = 0, high = 1;

    while (rp_student_two_sided_p(high, degrees) > alpha && high < 1e12)
        high *= 2;
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;

        if (rp_student_two_sided_p(middle, degrees) > alpha)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* --- the exact distribution of the signed-rank sum ----------------------------------------- */

/* Each rank is in the sum or not, with equal chances. */
static double *distribution(size_t n)
{
    double *p = calloc(n * (n + 1) / 2 + 1, sizeof *p);
    size_t most = 0;

    if (!p)
        return NULL;
    p[0] = 1;
    for (size_t rank = 1; rank <= n; rank++) {
        most += rank;
        for (size_t s = most + 1; s-- > 0;)
            p[s] = (p[s] + (s >= rank ? p[s - rank] : 0)) / 2;
    }
    return p;
}

double rp_signed_rank_below(size_t n, size_t w)
{
    rp_autofree double *p = n <= RP_SIGNED_RANK_MOST ? distribution(n) : NULL;
    double sum = 0;

    for (size_t s = 0; p && s <= w && s <= n * (n + 1) / 2; s++)
        sum += p[s];
    return p ? sum : NAN;
}

long rp_signed_rank_cut(size_t n, double alpha, double *ret_tail)
{
    rp_autofree double *p = distribution(n);
    double sum = 0, kept = 0;
    long k = -1;

    for (size_t s = 0; p && s <= n * (n + 1) / 2; s++) {
        sum += p[s];
        if (sum > alpha)
            break;
        kept = sum;
        k = (long)s;
    }
    *ret_tail = kept;
    return k;
}

static double *walsh_averages(const double *x, size_t n, size_t *ret_count)
{
    double *w = calloc(n * (n + 1) / 2, sizeof *w);
    size_t count = 0;

    for (size_t i = 0; w && i < n; i++)
        for (size_t j = i; j < n; j++)
            w[count++] = (x[i] + x[j]) / 2;
    if (w)
        rp_sort_numbers(w, count);
    *ret_count = count;
    return w;
}

struct rp_paired rp_paired_interval(const double *differences, size_t count, double alpha)
{
    size_t averages;
    rp_autofree double *walsh = walsh_averages(differences, count, &averages);
    struct rp_paired ret = {.middle = NAN, .low = -INFINITY, .high = INFINITY};
    double tail;
    const long k = walsh ? rp_signed_rank_cut(count, alpha, &tail) : -1;

    if (walsh)
        ret.middle = rp_median_of_sorted(walsh, averages);
    if (k >= 0) {
        ret.low = walsh[k];
        ret.high = walsh[averages - 1 - (size_t)k];
        ret.level = 1 - 2 * tail;
    }
    return ret;
}

/* --- which of two sides has the greater runtimes ------------------------------------------- */

enum { LEAST_FREEDOM = 3 };

struct rp_samples_log rp_samples_log(const double *runtimes, size_t count)
{
    struct rp_samples_log of = {.count = count};

    for (size_t i = 0; i < count; i++)
        of.mean += rp_exact_log(runtimes[i]) / (double)count;
    for (size_t i = 0; count > 1 && i < count; i++) {
        const double off = rp_exact_log(runtimes[i]) - of.mean;

        of.variance += off * off / (double)(count - 1);
    }
    return of;
}

void rp_noise_add(struct rp_noise *noise, const struct rp_samples_log *of)
{
    if (of->count < 2)
        return;
    noise->squares += of->variance * (double)(of->count - 1);
    noise->freedom += of->count - 1;
}

/** Returns the standard deviation of a logarithm. Below 0 means that too little was seen. */
static double noise_sd(const struct rp_noise *noise)
{
    return noise->freedom < LEAST_FREEDOM ? -1 : sqrt(noise->squares / (double)noise->freedom);
}

double rp_welch_degrees(double a, double degrees_a, double b, double degrees_b)
{
    const double sum = a + b;

    return sum * sum / (a * a / degrees_a + b * b / degrees_b);
}

double rp_welch_chance(const struct rp_samples_log *a, const struct rp_samples_log *b)
{
    const double ea = a->variance / (double)a->count, eb = b->variance / (double)b->count;
    const double error = ea + eb, off = a->mean - b->mean;
    double freedom, above;

    if (error == 0)
        return off == 0 ? 0.5 : off < 0;
    freedom = rp_welch_degrees(ea, (double)(a->count - 1), eb, (double)(b->count - 1));
    above = rp_student_above(fabs(off) / sqrt(error), freedom < 1 ? 1 : (size_t)freedom);
    return off < 0 ? 1 - above : above;
}

double rp_noise_chance(const struct rp_samples_log *a, const struct rp_samples_log *b,
                       const struct rp_noise *noise)
{
    const double error = noise_sd(noise) * sqrt(1 / (double)a->count + 1 / (double)b->count);
    const double off = a->mean - b->mean;

    if (error < 0 || off <= 0)
        return 1;
    return error == 0 ? 0 : rp_student_above(off / error, noise->freedom);
}
