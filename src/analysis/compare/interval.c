/* How far two series of runs are apart, and how sure that is. docs/compare.md says why so. */
#include "rocm-perf/compare.h"

#include <math.h>

#include "analysis/compare/line.h"

/* What the interval is widened by. Found by simulation: with these no kind of noise that is tried
 * in tests/unit/analysis/test_compare.c makes more than 1 % of false verdicts, but for machines
 * that change their speed in steps: one between the sides is what a regression is. */
static const double error_factor = 1.5;
static const double drift_factor = 1.25;
static const double most_dependence = 0.95;
static const double slow_factor = 0.75;
static const double slow_degrees = 2;

/* --- Student's t --------------------------------------------------------------------------- */

static double away_from_0(double x)
{
    return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* Continued fraction of the incomplete beta function, by Lentz. */
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

double rp_student_beyond(double t, double degrees)
{
    return isinf(t) ? 0 : beta_share(degrees / 2, 0.5, degrees / (degrees + t * t));
}

double rp_student_t(double alpha, double degrees)
{
    double low = 0, high = 1;

    while (rp_student_beyond(high, degrees) > alpha && high < 1e12)
        high *= 2;
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;

        if (rp_student_beyond(middle, degrees) > alpha)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* --- series -------------------------------------------------------------------------------- */

struct rp_trend rp_line_of(const double *ms, size_t count)
{
    struct rp_trend ret = {0};
    double spread = 0, last = 0;

    for (size_t i = 0; i < count; i++)
        if (!isnan(ms[i])) {
            ret.middle += (double)i;
            ret.count++;
        }
    ret.middle /= (double)ret.count;
    for (size_t i = 0; i < count; i++)
        ret.mean += isnan(ms[i]) ? 0 : log(ms[i]) / (double)ret.count;
    for (size_t i = 0; i < count; i++) {
        const double at = (double)i - ret.middle;

        if (isnan(ms[i]))
            continue;
        ret.slope += at * (log(ms[i]) - ret.mean);
        spread += at * at;
    }
    ret.slope /= spread;
    for (size_t i = 0; i < count; i++) {
        const double off = log(ms[i]) - ret.mean - ret.slope * ((double)i - ret.middle);

        if (isnan(ms[i]))
            continue;
        ret.squares += off * off;
        ret.neighbours += off * last;
        last = off;
    }
    return ret;
}

/* How much of a run's deviation the next one has. What few runs show of it is too little, by about
 * what is added. */
double rp_line_dependence(const struct rp_trend *a, const struct rp_trend *b, double count)
{
    const double squares = a->squares + b->squares;
    const double seen = squares > 0 ? (a->neighbours + b->neighbours) / squares : 0;
    const double corrected = seen + (2 + 4 * seen) / count;

    return fmin(fmax(corrected, 0), most_dependence);
}

/* Cosines of so many half periods in all runs: the slowest that a line leaves. */
enum { SLOWEST = 2, LAST_SLOW = 4 };

/* What is slow in runs, and hidden from neighbours by what is quick. */
struct slow {
    double squares; /* of the cosines' parts; of noise alone each is as much as a run's */
    double count;   /* of those */
};

static struct slow slow_of(const double *ms, size_t count, const struct rp_trend *line)
{
    struct slow ret = {0};

    for (size_t k = SLOWEST; k <= LAST_SLOW && 2 * k < line->count; k++) {
        double part = 0, length = 0;

        for (size_t i = 0; i < count; i++) {
            const double wave = cos(M_PI * (double)k * ((double)i + 0.5) / (double)count);

            if (isnan(ms[i]))
                continue;
            part += wave * (log(ms[i]) - line->mean - line->slope * ((double)i - line->middle));
            length += wave * wave;
        }
        ret.squares += part * part / length;
        ret.count++;
    }
    return ret;
}

/* What the variance of a mean is times that of runs that do not depend on each other. By
 * neighbours; and by what is slow where that says more, which few waves tell with little
 * certainty. @param degrees  of freedom: as Welch's, made fewer */
static double inflation(const struct rp_trend *a, const struct rp_trend *b,
                        const struct slow *slow_a, const struct slow *slow_b, double *degrees)
{
    const double count = (double)a->count + (double)b->count, squares = a->squares + b->squares;
    const double r = rp_line_dependence(a, b, count / 2);
    const double quick = (1 + r) / (1 - r);
    const double waves = (slow_a->squares + slow_b->squares) / (slow_a->count + slow_b->count);
    const double slow = squares > 0 ? slow_factor * waves * (count - 4) / squares : 0;
    const double more = slow - quick;

    *degrees = *degrees * (1 - r * r) / (1 + r * r);
    if (more > 0) /* after Satterthwaite */
        *degrees = slow * slow / (quick * quick / *degrees + more * more / slow_degrees);
    *degrees = fmax(*degrees, 1);
    return fmax(quick, slow);
}

struct rp_versus_shift rp_versus_shift_of(const double *before_ms, size_t before_count,
                                          const double *after_ms, size_t after_count)
{
    const struct rp_trend before = rp_line_of(before_ms, before_count);
    const struct rp_trend after = rp_line_of(after_ms, after_count);
    const struct slow slow_before = slow_of(before_ms, before_count, &before);
    const struct slow slow_after = slow_of(after_ms, after_count, &after);
    const double n = (double)before.count, m = (double)after.count;
    const double runs = ((double)before_count + (double)after_count) / 2;
    const double of_before = before.squares / (n - 2) / n, of_after = after.squares / (m - 2) / m;
    const double sum = of_before + of_after;
    struct rp_versus_shift ret = {.log_ratio = after.mean - before.mean, .degrees = 1};

    if (sum > 0) /* after Welch and Satterthwaite; a line has taken two degrees of freedom */
        ret.degrees = sum * sum / (of_before * of_before / (n - 2) + of_after * of_after / (m - 2));
    ret.error = error_factor *
                sqrt(sum * inflation(&before, &after, &slow_before, &slow_after, &ret.degrees));
    ret.drift = drift_factor * runs * fmax(fabs(before.slope), fabs(after.slope));
    return ret;
}

double rp_versus_half(const struct rp_versus_shift *shift, double alpha)
{
    return shift->drift + rp_student_t(alpha, shift->degrees) * shift->error;
}

double rp_versus_p(const struct rp_versus_shift *shift, double most)
{
    const double beyond = fabs(shift->log_ratio) - shift->drift - log(most);

    if (!(beyond > 0))
        return 1;
    return shift->error > 0 ? rp_student_beyond(beyond / shift->error, shift->degrees) : 0;
}
