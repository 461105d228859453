/* Whether the last results of a series differ from those before. docs/history.md says why so. */
#include "rocm-perf/changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/line.h"
#include "rocm-perf/compare.h"

/* What the error and the allowance for drift are multiplied by. Found by simulation: with these no
 * kind of noise in tests/unit/analysis/test_history.c makes more than 1 % of false alarms. */
static const double error_factor = 1.7;
static const double drift_factor = 2;

/* So many standard deviations from those before, one result alone is not what they are. */
static const double odd_from = 3;

/* And so many from both of its neighbours, it is left out of what is known of those before. */
static const double alone_from = 6;
enum { LEAST_TO_TAME = 6 };

/* A machine of long ago says little of today's. */
enum { MOST_BEFORE = 30 };

/* How many of the last results are looked at together. */
static const size_t lengths[] = {2, 3, 5, 8};
enum { LENGTHS = sizeof lengths / sizeof *lengths, MOST_AFTER = 8 };

/* One series, parted. */
struct parted {
    struct rp_versus_shift shift;
    double scatter; /* standard deviation of a result, of its logarithm */
    double mean;    /* of the logarithms of those before */
};

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

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Standard deviation of a result, by the median step from one to the next: a few odd ones do not
 * reach it. */
static double scatter_of_steps(const double *ms, size_t n)
{
    double steps[MOST_BEFORE] = {0};
    const size_t count = n - 1;

    for (size_t i = 0; i < count; i++)
        steps[i] = fabs(log(ms[i + 1] / ms[i]));
    qsort(steps, count, sizeof *steps, by_value);
    return 1.4826 / sqrt(2) *
           (count % 2 ? steps[count / 2] : (steps[count / 2 - 1] + steps[count / 2]) / 2);
}

/* One result alone, far off both of its neighbours on the same side, becomes as they are: it would
 * hide any change for as long as it is among those before. */
static void tame_those_alone(double *ms, size_t n)
{
    const double far = n >= LEAST_TO_TAME ? alone_from * scatter_of_steps(ms, n) : 0;
    double before;

    if (!(far > 0))
        return;
    before = ms[0];
    for (size_t i = 1; i + 1 < n; i++) {
        const double x = log(ms[i] / before), y = log(ms[i] / ms[i + 1]), own = ms[i];

        if (x * y > 0 && fmin(fabs(x), fabs(y)) > far)
            ms[i] = sqrt(before * ms[i + 1]);
        before = own;
    }
}

/* The step of a clock that shows where times repeat; 0: none. Of the logarithm. */
static double step_of_clock(const double *ms, size_t n)
{
    double sorted[MOST_BEFORE] = {0};
    double least = INFINITY;
    bool repeats = false;

    memcpy(sorted, ms, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    for (size_t i = 1; i < n; i++)
        if (sorted[i] > sorted[i - 1])
            least = fmin(least, log(sorted[i] / sorted[i - 1]));
        else
            repeats = true;
    return repeats && isfinite(least) ? least : 0;
}

/* As between two sides of a comparison (analysis/compare/interval.c), but for a few new results:
 * how they scatter is known by those before. */
static struct parted part(const struct rp_history_point *points, size_t before, size_t after)
{
    double ms[MOST_BEFORE + MOST_AFTER] = {0};
    const double n = (double)before, m = (double)after, degrees = n - 2 + m - 1;
    struct parted ret = {.shift = {.degrees = degrees}};
    struct rp_trend old, new;
    double squares = 0, spread, of_new, step, r;

    for (size_t i = 0; i < before + after; i++)
        ms[i] = points[i].ms;
    step = step_of_clock(ms, before);
    tame_those_alone(ms, before);
    old = rp_line_of(ms, before);
    new = rp_line_of(ms + before, after);
    for (size_t i = before; i < before + after; i++)
        squares += (log(ms[i]) - new.mean) * (log(ms[i]) - new.mean);
    /* Equal times of a coarse clock are not without noise. */
    spread = fmax((old.squares + squares) / degrees, step * step / 12);
    of_new = fmax(spread, mean_of_squares(points + before, after));
    r = rp_line_dependence(&old, &old, n);
    ret.scatter = sqrt(old.squares / (n - 2));
    ret.mean = old.mean;
    ret.shift.log_ratio = new.mean - old.mean;
    ret.shift.error = error_factor * sqrt((1 + r) / (1 - r) * (spread / n + of_new / m));
    ret.shift.drift = drift_factor * fabs(old.slope) * (n + m) / 2 + step +
                      most_tick(points, before) + most_tick(points + before, after);
    return ret;
}

static struct parted part_at_end(const struct rp_history_point *points, size_t count, size_t after)
{
    const size_t all = count - after, before = all < MOST_BEFORE ? all : MOST_BEFORE;

    return part(points + all - before, before, after);
}

/* How many of the lengths leave enough results before them. */
static size_t parts_of(size_t count)
{
    size_t ret = 0;

    while (ret < LENGTHS && lengths[ret] + RP_CHANGE_LEAST_BEFORE <= count)
        ret++;
    return ret;
}

size_t rp_change_at_end(const struct rp_history_point *points, size_t count, double alpha,
                        double margin, double *ret_ratio)
{
    const size_t parts = parts_of(count);
    double least = alpha / (double)parts;
    size_t found = 0;

    for (size_t i = 0; i < parts; i++) {
        const struct parted parted = part_at_end(points, count, lengths[i]);
        const double p = rp_versus_p(&parted.shift, 1 + margin);

        if (p < least) {
            least = p;
            found = lengths[i];
            *ret_ratio = exp(parted.shift.log_ratio);
        }
    }
    return found;
}

/* The one of the newest results, of the two at least, that is farthest from those before. */
static void find_odd(const struct rp_history_point *points, size_t count, double margin,
                     struct rp_change_newest *ret)
{
    const size_t after = RP_CHANGE_LEAST_AFTER;
    const struct parted parted = part_at_end(points, count, after);
    const double least = fmax(odd_from * parted.scatter, log(1 + margin) + parted.shift.drift);
    double farthest = 0;

    for (size_t i = count - after; i < count; i++) {
        const double off = log(points[i].ms) - parted.mean;

        if (fabs(off) <= fmax(least, fabs(farthest)))
            continue;
        farthest = off;
        ret->odd = &points[i];
        ret->odd_ratio = exp(off);
    }
}

bool rp_change_newest(const struct rp_history_point *points, size_t count, double alpha,
                      double margin, struct rp_change_newest *ret)
{
    const size_t parts = parts_of(count);
    double narrowest = INFINITY;

    *ret = (struct rp_change_newest){0};
    for (size_t i = 0; i < parts; i++) {
        const struct parted parted = part_at_end(points, count, lengths[i]);
        const double half = rp_versus_half(&parted.shift, alpha / (double)parts);

        if (half >= narrowest)
            continue;
        narrowest = half;
        ret->low = exp(parted.shift.log_ratio - half);
        ret->high = exp(parted.shift.log_ratio + half);
    }
    if (parts)
        find_odd(points, count, margin, ret);
    return parts > 0;
}
