/* Whether the last results of a series differ from those before. docs/history.md says why so. */
#include "rocm-perf/changes.h"

#include <math.h>

#include "analysis/compare/line.h"
#include "rocm-perf/compare.h"

/* What the error and the allowance for drift are multiplied by. Found by simulation: with these no
 * kind of noise in tests/unit/analysis/test_history.c makes more than 1 % of false alarms. */
static const double error_factor = 1.7;
static const double drift_factor = 2;

/* A machine of long ago says little of today's. */
enum { MOST_BEFORE = 30 };

/* How many of the last results are looked at together. */
static const size_t lengths[] = {2, 3, 5, 8};
enum { LENGTHS = sizeof lengths / sizeof *lengths, MOST_AFTER = 8 };

static double mean_of_squares(const struct rp_history_point *points, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += points[i].error * points[i].error;
    return sum / (double)count;
}

static double most_tick(const struct rp_history_point *points, size_t count)
{
    double most = 0;

    for (size_t i = 0; i < count; i++)
        most = fmax(most, points[i].tick);
    return most;
}

/* As between two sides of a comparison (analysis/compare/interval.c), but for a few new results:
 * how they scatter is known by those before. */
static struct rp_versus_shift shift_of(const struct rp_history_point *points, size_t before,
                                       size_t after)
{
    double ms[MOST_BEFORE + MOST_AFTER] = {0};
    const double n = (double)before, m = (double)after;
    struct rp_versus_shift ret = {.degrees = n - 2 + m - 1};
    struct rp_line old, new;
    double squares = 0, spread, r;

    for (size_t i = 0; i < before + after; i++)
        ms[i] = points[i].ms;
    old = rp_line_of(ms, before);
    new = rp_line_of(ms + before, after);
    for (size_t i = before; i < before + after; i++)
        squares += (log(ms[i]) - new.mean) * (log(ms[i]) - new.mean);
    spread = (old.squares + squares) / ret.degrees;
    r = rp_line_dependence(&old, &old, n);
    ret.log_ratio = new.mean - old.mean;
    ret.error = error_factor * sqrt((1 + r) / (1 - r)) *
                sqrt(spread / n + fmax(spread, mean_of_squares(points + before, after)) / m);
    ret.drift = drift_factor * fabs(old.slope) * (n + m) / 2 + most_tick(points, before) +
                most_tick(points + before, after);
    return ret;
}

size_t rp_change_at_end(const struct rp_history_point *points, size_t count, double alpha,
                        double margin, double *ret_ratio)
{
    double least = alpha / LENGTHS;
    size_t found = 0;

    for (size_t i = 0; i < LENGTHS && lengths[i] + RP_CHANGE_LEAST_BEFORE <= count; i++) {
        size_t before = count - lengths[i];
        struct rp_versus_shift shift;
        double p;

        before = before < MOST_BEFORE ? before : MOST_BEFORE;
        shift = shift_of(points + count - lengths[i] - before, before, lengths[i]);
        p = rp_versus_p(&shift, 1 + margin);
        if (p < least) {
            least = p;
            found = lengths[i];
            *ret_ratio = exp(shift.log_ratio);
        }
    }
    return found;
}
