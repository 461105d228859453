#include "tune/race.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/numeric.h"

enum { TABLE = 30, LEAST_FREEDOM = 3, MOST_ORDERED = 1000 };

/** Student's t by degrees of freedom from 1 on: what it exceeds by chance in 5 and in 0.5 of 100
 *  cases. Beyond the table the last row is a little too strict. */
static const double above_5[TABLE] = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860,
                                      1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753, 1.746,
                                      1.740, 1.734, 1.729, 1.725, 1.721, 1.717, 1.714, 1.711,
                                      1.708, 1.706, 1.703, 1.701, 1.699, 1.697};
static const double above_05[TABLE] = {63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355,
                                       3.250,  3.169, 3.106, 3.055, 3.012, 2.977, 2.947, 2.921,
                                       2.898,  2.878, 2.861, 2.845, 2.831, 2.819, 2.807, 2.797,
                                       2.787,  2.779, 2.771, 2.763, 2.756, 2.750};

struct rp_samples_log rp_samples_log(const double *samples_ms, size_t count)
{
    struct rp_samples_log of = {.count = count};

    for (size_t i = 0; i < count; i++)
        of.mean += rp_exact_log(samples_ms[i]) / (double)count;
    for (size_t i = 0; count > 1 && i < count; i++) {
        const double off = rp_exact_log(samples_ms[i]) - of.mean;

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

double rp_noise_sd(const struct rp_noise *noise)
{
    return noise->freedom < LEAST_FREEDOM ? -1 : sqrt(noise->squares / (double)noise->freedom);
}

/** How far a is above b in standard errors by Welch, and the row of the table for it. */
static double welch(const struct rp_samples_log *a, const struct rp_samples_log *b, size_t *ret_row)
{
    const double ea = a->variance / (double)a->count, eb = b->variance / (double)b->count;
    const double error = ea + eb, off = a->mean - b->mean;
    double freedom;

    *ret_row = TABLE - 1;
    if (error == 0)
        return off == 0 ? 0 : copysign(HUGE_VAL, off);
    freedom = error * error / (ea * ea / (double)(a->count - 1) + eb * eb / (double)(b->count - 1));
    if (freedom < TABLE)
        *ret_row = freedom < 1 ? 0 : (size_t)freedom - 1;
    return off / sqrt(error);
}

bool rp_race_slower(const struct rp_samples_log *a, const struct rp_samples_log *b,
                    const struct rp_noise *noise)
{
    const double sd = rp_noise_sd(noise);
    size_t row;
    double t;

    if (a->count > 1 && b->count > 1) {
        t = welch(a, b, &row);
        return t > above_5[row];
    }
    return sd >= 0 &&
           a->mean - b->mean > 3 * sd * sqrt(1 / (double)a->count + 1 / (double)b->count);
}

bool rp_race_differ(const struct rp_samples_log *a, const struct rp_samples_log *b)
{
    size_t row;
    const double t = welch(a, b, &row);

    return fabs(t) > above_05[row];
}

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/** Of more samples than anybody takes the first ones count. */
static size_t sorted(const double *samples_ms, size_t count, double *to)
{
    const size_t n = count < MOST_ORDERED ? count : MOST_ORDERED;

    memcpy(to, samples_ms, n * sizeof *to);
    qsort(to, n, sizeof *to, compare_doubles);
    return n;
}

double rp_samples_median(const double *samples_ms, size_t count)
{
    double order[MOST_ORDERED];
    const size_t n = sorted(samples_ms, count, order);

    return n % 2 ? order[n / 2] : (order[n / 2 - 1] + order[n / 2]) / 2;
}

/* Each sample is below the true median as often as above: how many are is binomial. */
struct rp_interval rp_samples_interval(const double *samples_ms, size_t count)
{
    double order[MOST_ORDERED];
    const size_t n = sorted(samples_ms, count, order);
    double term = ldexp(1, -(int)n), below = term; /* as good as 0 beyond 1000 samples */
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
        .low_ms = order[at], .high_ms = order[n - 1 - at], .confidence = 1 - 2 * below};
}
