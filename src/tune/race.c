#include "tune/race.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/numeric.h"

enum { LEAST_FREEDOM = 3, MOST_ORDERED = 1000 };

/** How often a configuration that is as fast as the best one may be dropped, over all looks. */
static const double race_level = 0.05;
/** Of each side: who differs. */
static const double differ_level = 0.005;

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

/** How often b would be as far below a by chance, by Welch. */
static double welch(const struct rp_samples_log *a, const struct rp_samples_log *b)
{
    const double ea = a->variance / (double)a->count, eb = b->variance / (double)b->count;
    const double error = ea + eb, off = a->mean - b->mean;
    double freedom, above;

    if (error == 0)
        return off == 0 ? 0.5 : off < 0;
    freedom = error * error / (ea * ea / (double)(a->count - 1) + eb * eb / (double)(b->count - 1));
    above = rp_student_above(fabs(off) / sqrt(error), freedom < 1 ? 1 : (size_t)freedom);
    return off < 0 ? 1 - above : above;
}

/** The same of a single sample, which has no variance: that of all others counts. */
static double by_noise(const struct rp_samples_log *a, const struct rp_samples_log *b,
                       const struct rp_noise *noise)
{
    const double error = rp_noise_sd(noise) * sqrt(1 / (double)a->count + 1 / (double)b->count);
    const double off = a->mean - b->mean;

    if (error < 0 || off <= 0)
        return 1;
    return error == 0 ? 0 : rp_student_above(off / error, noise->freedom);
}

double rp_race_level(unsigned least, unsigned most)
{
    return most > least ? race_level / (most - least) : race_level;
}

bool rp_race_slower(const struct rp_samples_log *a, const struct rp_samples_log *b,
                    const struct rp_noise *noise, double level)
{
    return (a->count > 1 && b->count > 1 ? welch(a, b) : by_noise(a, b, noise)) < level;
}

bool rp_race_differ(const struct rp_samples_log *a, const struct rp_samples_log *b)
{
    const double above = welch(a, b);

    return above < differ_level || 1 - above < differ_level;
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
