#include "replay/decide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_of(const double *sorted, size_t n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static int log_median(const double *us, size_t n, double *ret, struct rp_err *err)
{
    rp_autofree double *sorted = calloc(n + 1, sizeof *sorted);

    if (!sorted)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < n; i++)
        if (!(us[i] > 0) || !isfinite(us[i]))
            return rp_fail(err, RP_BAD_INPUT, "run %zu took %g us: the clock cannot tell", i + 1,
                           us[i]);
    memcpy(sorted, us, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    *ret = log(median_of(sorted, n));
    return 0;
}

int rp_decide_block(const double *a_us, const double *b_us, size_t runs_each, double *ret_log_ratio,
                    struct rp_err *err)
{
    double a = 0, b = 0;
    int rc = log_median(a_us, runs_each, &a, err);

    if (rc == 0)
        rc = log_median(b_us, runs_each, &b, err);
    if (rc == 0)
        *ret_log_ratio = a - b;
    return rc;
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
    rp_autofree double *p = n <= RP_DECIDE_MOST_BLOCKS ? distribution(n) : NULL;
    double sum = 0;

    for (size_t s = 0; p && s <= w && s <= n * (n + 1) / 2; s++)
        sum += p[s];
    return p ? sum : NAN;
}

/* How many of the outermost Walsh averages may be left out on each side: the most for which the
 * chance that the middle lies beyond is at most alpha. @return -1: none, there are too few blocks
 */
static long cut(size_t n, double alpha, double *ret_tail)
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

/* --- verdict ------------------------------------------------------------------------------- */

static double *walsh_averages(const double *x, size_t n, size_t *ret_count)
{
    double *w = calloc(n * (n + 1) / 2 + 1, sizeof *w);
    size_t count = 0;

    for (size_t i = 0; w && i < n; i++)
        for (size_t j = i; j < n; j++)
            w[count++] = (x[i] + x[j]) / 2;
    if (w)
        qsort(w, count, sizeof *w, by_value);
    *ret_count = count;
    return w;
}

/* A wide margin makes faster and slower rarer, but equal more frequent: that is for the user to
 * ask for. */
static enum rp_replay_decision verdict(const struct rp_decided *d,
                                       const struct rp_decide_rule *rule)
{
    const double most = 1 + rule->margin, least = 1 / most;
    const double beyond = rule->noise > rule->margin ? 1 + rule->noise : most;

    if (d->low > beyond)
        return RP_FASTER;
    if (d->high < 1 / beyond)
        return RP_SLOWER;
    return d->low >= least && d->high <= most ? RP_EQUAL : RP_UNDECIDED;
}

int rp_replay_decide(const double *log_ratios, size_t blocks, const struct rp_decide_rule *rule,
                     struct rp_decided *ret, struct rp_err *err)
{
    rp_autofree double *walsh = NULL;
    struct rp_decided d = {.high = INFINITY};
    size_t count;
    double tail;
    long k;

    if (blocks < 1 || blocks > RP_DECIDE_MOST_BLOCKS || rule->looks < 1 || !(rule->alpha > 0) ||
        !(rule->margin >= 0) || !(rule->noise >= 0))
        return rp_fail(err, RP_BAD_INPUT, "%zu blocks cannot be judged: use 1 to %d", blocks,
                       RP_DECIDE_MOST_BLOCKS);
    walsh = walsh_averages(log_ratios, blocks, &count);
    if (!walsh)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    d.ratio = exp(median_of(walsh, count));
    k = cut(blocks, rule->alpha / rule->looks, &tail);
    if (k >= 0) {
        d.low = exp(walsh[k]);
        d.high = exp(walsh[count - 1 - (size_t)k]);
        d.level = 1 - 2 * tail;
    }
    d.decision = verdict(&d, rule);
    *ret = d;
    return 0;
}

int rp_replay_decide_exactly(double ratio, const struct rp_decide_rule *rule,
                             struct rp_decided *ret, struct rp_err *err)
{
    struct rp_decided d = {.ratio = ratio, .low = ratio, .high = ratio, .level = 1};

    if (!(ratio > 0) || !isfinite(ratio))
        return rp_fail(err, RP_BAD_INPUT, "a ratio of times is %g", ratio);
    d.decision = verdict(&d, rule);
    *ret = d;
    return 0;
}

/* --- with other values --------------------------------------------------------------------- */

/* What is as fast as before with other values has not half of the captured gain by noise alone. */
static enum rp_held held(const struct rp_decided *d, double low, const struct rp_held_rule *rule)
{
    const double half = sqrt(rule->captured), least = 1 + rule->decide.margin;

    if (d->high <= least || (d->high < half && d->decision != RP_FASTER))
        return RP_NOT_HELD;
    return low > 1 ? RP_HELD : RP_HELD_OPEN;
}

/* The last look has half of it: what is not told until then is near the end of what can be. */
static double alpha_of_look(const struct rp_held_rule *rule, bool last)
{
    const double kinds = rule->kinds ? (double)rule->kinds : 1;
    const double alpha = pow(rule->decide.alpha, 1 / kinds);
    const unsigned looks = rule->decide.looks;

    return looks < 2 ? alpha : last ? alpha / 2 : alpha / 2 / (looks - 1);
}

int rp_decide_held(const double *log_ratios, size_t blocks, bool last,
                   const struct rp_held_rule *rule, struct rp_decided *ret, enum rp_held *ret_held,
                   struct rp_err *err)
{
    const struct rp_decide_rule look = {.alpha = alpha_of_look(rule, last), .looks = 1};
    struct rp_decided d = {0};
    int rc = rp_replay_decide(log_ratios, blocks, &rule->decide, ret, err);

    if (rc == 0)
        rc = rp_replay_decide(log_ratios, blocks, &look, &d, err);
    if (rc == 0)
        *ret_held = held(ret, d.low, rule);
    return rc;
}

int rp_decide_held_exactly(double ratio, const struct rp_held_rule *rule, struct rp_decided *ret,
                           enum rp_held *ret_held, struct rp_err *err)
{
    int rc = rp_replay_decide_exactly(ratio, &rule->decide, ret, err);

    if (rc == 0)
        *ret_held = held(ret, ret->low, rule);
    return rc;
}

bool rp_decide_steady(const struct rp_decided *same, double *ret_noise)
{
    *ret_noise = exp(fabs(log(same->ratio))) - 1;
    return same->low <= 1 && same->high >= 1;
}

enum rp_gate_result rp_decide_gate(const struct rp_decided *d, double margin, enum rp_gate gate)
{
    const bool not_slower = d->level > 0 && d->low >= 1 / (1 + margin);

    if (gate == RP_GATE_NONE || (gate == RP_GATE_FASTER && d->decision == RP_FASTER) ||
        (gate == RP_GATE_NOT_SLOWER && not_slower))
        return RP_GATE_PASSED;
    return d->decision == RP_UNDECIDED ? RP_GATE_OPEN : RP_GATE_FAILED;
}
