#include "shift.h"

#include <math.h>
#include <stdlib.h>

/* A clock that is corrected over the network runs up to 500 ppm faster or slower than the one of a
 * GPU that is not; what differs by more is no clock. */
#define MOST_DRIFT 5e-4

/* One bound in so many may be wrong. */
enum { FEW = 8, STEPS = 80 };

/* Nor is one known that only some starts show to be behind by as much. */
enum { NO_CLOCK_NS = 10000000 };

/* The most that is to be added at least, or the least that is at most. */
static int64_t extreme(const struct rp_dag_bounds *b, bool most)
{
    int64_t found = most ? INT64_MAX : INT64_MIN;

    for (size_t i = 0; i < b->count; i++)
        if (most ? b->list[i].by_ns < found : b->list[i].by_ns > found)
            found = b->list[i].by_ns;
    return found;
}

/* --- a drift -------------------------------------------------------------------------------- */

struct gap {
    double low, high; /* what is to be added at the origin, at least and at most */
};

static struct gap gap_with(const struct rp_dag_bounds *least, const struct rp_dag_bounds *most,
                           const struct rp_dag_shift *origin, double drift)
{
    struct gap g = {-INFINITY, INFINITY};

    for (size_t i = 0; i < least->count; i++)
        g.low = fmax(g.low, (double)(least->list[i].by_ns - origin->by_ns) -
                                drift * (double)(least->list[i].at_ns - origin->at_ns));
    for (size_t i = 0; i < most->count; i++)
        g.high = fmin(g.high, (double)(most->list[i].by_ns - origin->by_ns) -
                                  drift * (double)(most->list[i].at_ns - origin->at_ns));
    return g;
}

/* The room between both kinds of bounds is concave in the drift: its peak is found by thirds. */
static bool find_drift(const struct rp_dag_bounds *least, const struct rp_dag_bounds *most,
                       struct rp_dag_shift *ret)
{
    struct rp_dag_shift origin = {.at_ns = least->list[0].at_ns, .by_ns = least->list[0].by_ns};
    double low = -MOST_DRIFT, high = MOST_DRIFT;
    struct gap g;

    for (int i = 0; i < STEPS; i++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        struct gap at_a = gap_with(least, most, &origin, a);
        struct gap at_b = gap_with(least, most, &origin, b);
        if (at_a.high - at_a.low < at_b.high - at_b.low)
            low = a;
        else
            high = b;
    }
    g = gap_with(least, most, &origin, (low + high) / 2);
    if (g.high < g.low)
        return false;
    origin.drift = (low + high) / 2;
    origin.by_ns += llround((g.low + g.high) / 2);
    *ret = origin;
    return true;
}

/* --- some bounds are wrong ------------------------------------------------------------------ */

static int by_amount(const void *a, const void *b)
{
    const struct rp_dag_bound *x = a, *y = b;

    return (x->by_ns > y->by_ns) - (x->by_ns < y->by_ns);
}

static uint64_t magnitude(int64_t ns)
{
    return ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
}

/* How many bounds of both lists contradict a shift. */
struct vote {
    size_t against;
    int64_t by_ns;
};

static void take_better(struct vote *best, size_t against, int64_t by_ns)
{
    if (against < best->against ||
        (against == best->against && magnitude(by_ns) < magnitude(best->by_ns)))
        *best = (struct vote){against, by_ns};
}

/* Both lists are sorted. Only bounds themselves, and no shift at all, can be the best. */
static struct vote fewest_against(const struct rp_dag_bounds *least,
                                  const struct rp_dag_bounds *most)
{
    struct vote best = {SIZE_MAX, 0};
    size_t below = 0, over = 0, i = 0, k = 0;
    bool zero = false;

    while (i < least->count || k < most->count || !zero) {
        int64_t by_ns = zero ? INT64_MAX : 0;
        if (i < least->count && least->list[i].by_ns < by_ns)
            by_ns = least->list[i].by_ns;
        if (k < most->count && most->list[k].by_ns < by_ns)
            by_ns = most->list[k].by_ns;
        zero |= by_ns == 0;
        while (below < least->count && least->list[below].by_ns <= by_ns)
            below++;
        while (over < most->count && most->list[over].by_ns < by_ns)
            over++;
        take_better(&best, least->count - below + over, by_ns);
        while (i < least->count && least->list[i].by_ns <= by_ns)
            i++;
        while (k < most->count && most->list[k].by_ns <= by_ns)
            k++;
    }
    return best;
}

/* One shift agrees with all; but where it is for the sake of a few bounds only, these are wrong. A
 * clock that is a little behind shows in few starts, too: of many in a row, the first. */
static int64_t nearest(const struct rp_dag_bounds *least, const struct rp_dag_bounds *most,
                       int64_t low_ns, int64_t high_ns)
{
    /* Clocks of two GPUs that are far off are put right by the same measure: a wake-up. */
    int64_t by_ns = low_ns > RP_DAG_CLOCKS_APART_NS && most->count ? high_ns
                    : low_ns > 0                                   ? low_ns
                    : high_ns < 0                                  ? high_ns
                                                                   : 0;
    const struct rp_dag_bounds *b = by_ns > 0 ? least : most;
    size_t against = 0;

    for (size_t i = 0; i < b->count; i++)
        against += by_ns > 0 ? b->list[i].by_ns > 0 : b->list[i].by_ns < 0;
    return b->count >= FEW && against * FEW <= b->count && (by_ns < 0 || by_ns >= NO_CLOCK_NS)
               ? 0
               : by_ns;
}

struct rp_dag_shift rp_dag_shift_find(struct rp_dag_bounds *least, struct rp_dag_bounds *most)
{
    int64_t low_ns = extreme(least, false), high_ns = extreme(most, true);
    struct rp_dag_shift shift = {0};
    struct vote vote;

    if (low_ns <= high_ns) {
        shift.by_ns = nearest(least, most, low_ns, high_ns);
        return shift;
    }
    if (find_drift(least, most, &shift))
        return shift;
    qsort(least->list, least->count, sizeof *least->list, by_amount);
    qsort(most->list, most->count, sizeof *most->list, by_amount);
    vote = fewest_against(least, most);
    shift = (struct rp_dag_shift){.by_ns = vote.by_ns,
                                  .contradicted = vote.against > 1 &&
                                                  vote.against * FEW > least->count + most->count};
    if (shift.contradicted)
        shift.by_ns = 0;
    return shift;
}
