/* Says how far two series of runs are apart, and how sure that is. docs/how-it-decides.md explains
 * why it is done so. */
#include <math.h>

#include "analyze/compare.h"
#include "base/stats.h"

/* The interval is widened by this factor, which was found by simulation: with it no kind of noise
 * in tests/unit/analyze/test_compare.c makes more than 1 % of false verdicts. The exception are
 * machines that change their speed in steps: a step between the sides looks like a regression. */
static const double error_factor = 1.5;
static const double drift_factor = 1.25;
static const double most_dependence = 0.95;
static const double slow_factor = 0.75;
static const double slow_degrees = 2;

/* --- series -------------------------------------------------------------------------------- */

struct rp_trend rp_trend_of(const double *ms, size_t count)
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

/* Estimates how much of a run's deviation the next one has. Few runs show too little of it, by
 * about the amount that is added. */
double rp_trend_dependence(const struct rp_trend *a, const struct rp_trend *b, double count)
{
    const double squares = a->squares + b->squares;
    const double seen = squares > 0 ? (a->neighbours + b->neighbours) / squares : 0;
    const double corrected = seen + (2 + 4 * seen) / count;

    return fmin(fmax(corrected, 0), most_dependence);
}

/* Cosines have so many half periods in all runs. The slowest are those that a line leaves. */
enum { SLOWEST = 2, LAST_SLOW = 4 };

/* Slow changes of runs are hidden from neighbours by quick ones. */
struct slow {
    double squares; /**< of the cosines' parts; with noise alone each is as large as a run's */
    double count;   /**< number of squares */
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

/* Returns the factor by which the variance of a mean exceeds that of independent runs. It is
 * estimated from neighbours, or from slow changes where these give more; few waves make that less
 * certain.
 * @param degrees of freedom: as Welch's, reduced */
static double inflation(const struct rp_trend *a, const struct rp_trend *b,
                        const struct slow *slow_a, const struct slow *slow_b, double *degrees)
{
    const double count = (double)a->count + (double)b->count, squares = a->squares + b->squares;
    const double r = rp_trend_dependence(a, b, count / 2);
    const double quick = (1 + r) / (1 - r);
    const double waves = (slow_a->squares + slow_b->squares) / (slow_a->count + slow_b->count);
    const double slow = squares > 0 ? slow_factor * waves * (count - 4) / squares : 0;
    const double more = slow - quick;

    *degrees = *degrees * (1 - r * r) / (1 + r * r);
    if (more > 0) /* This follows Satterthwaite. */
        *degrees = slow * slow / (quick * quick / *degrees + more * more / slow_degrees);
    *degrees = fmax(*degrees, 1);
    return fmax(quick, slow);
}

struct rp_versus_shift rp_versus_shift_of(const double *before_ms, size_t before_count,
                                          const double *after_ms, size_t after_count)
{
    const struct rp_trend before = rp_trend_of(before_ms, before_count);
    const struct rp_trend after = rp_trend_of(after_ms, after_count);
    const struct slow slow_before = slow_of(before_ms, before_count, &before);
    const struct slow slow_after = slow_of(after_ms, after_count, &after);
    const double n = (double)before.count, m = (double)after.count;
    const double runs = ((double)before_count + (double)after_count) / 2;
    const double of_before = before.squares / (n - 2) / n, of_after = after.squares / (m - 2) / m;
    const double sum = of_before + of_after;
    struct rp_versus_shift ret = {.log_ratio = after.mean - before.mean, .degrees = 1};

    /* A line has taken two degrees of freedom. */
    if (sum > 0)
        ret.degrees = rp_welch_degrees(of_before, n - 2, of_after, m - 2);
    ret.error = error_factor *
                sqrt(sum * inflation(&before, &after, &slow_before, &slow_after, &ret.degrees));
    ret.drift = drift_factor * runs * fmax(fabs(before.slope), fabs(after.slope));
    return ret;
}

double rp_versus_half_interval(const struct rp_versus_shift *shift, double alpha)
{
    return shift->drift + rp_student_quantile(alpha, shift->degrees) * shift->error;
}

double rp_versus_p_value(const struct rp_versus_shift *shift, double most)
{
    const double beyond = fabs(shift->log_ratio) - shift->drift - log(most);

    if (!(beyond > 0))
        return 1;
    return shift->error > 0 ? rp_student_two_sided_p(beyond / shift->error, shift->degrees) : 0;
}
