/* Finds what the launches of one run of each side tell where there are too few runs, and where a
 * series has a step, which no straight line and no noise explains. docs/how-it-decides.md has the
 * rules. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare.h"
#include "analyze/profile.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/stats.h"
#include "trace/records.h"
#include "trace/rocpd.h"

/* --- steps ---------------------------------------------------------------------------------- */

static const double least_step = 1.2; /**< a smaller step is noise like other noise */
static const double clear_of_noise = 6, deviation_of_median = 1.4826;
static const double share_beside = 0.9; /**< of each part, on its side of the middle */

/* Finds where two constants leave least of the series.
 * @return how many are in the first part */
static size_t best_split(const double *logs, size_t count, size_t least)
{
    double all = 0, left = 0, best = -1;
    size_t ret = least;

    for (size_t i = 0; i < count; i++)
        all += logs[i];
    for (size_t i = 0; i + least < count; i++) {
        const double n = (double)i + 1, m = (double)(count - i - 1);
        double apart;

        left += logs[i];
        apart = left / n - (all - left) / m;
        if (i + 1 < least || apart * apart * n * m <= best)
            continue;
        best = apart * apart * n * m;
        ret = i + 1;
    }
    return ret;
}

static double median_of(const double *values, size_t count, double *room)
{
    memcpy(room, values, count * sizeof *room);
    return rp_median(room, count);
}

static double share_below(const double *logs, size_t count, double middle)
{
    size_t below = 0;

    for (size_t i = 0; i < count; i++)
        below += logs[i] < middle;
    return (double)below / (double)count;
}

/* Medians see neither a slow first launch nor a few disturbed ones. */
static bool is_step(const double *logs, size_t count, size_t first, double *room, double *ret_from,
                    double *ret_to)
{
    const double from = median_of(logs, first, room);
    const double to = median_of(logs + first, count - first, room);
    const double middle = (from + to) / 2, apart = fabs(to - from);
    double below = share_below(logs, first, middle);
    double above = 1 - share_below(logs + first, count - first, middle);

    if (to < from) {
        below = 1 - below;
        above = 1 - above;
    }
    for (size_t i = 0; i < count; i++)
        room[i] = fabs(logs[i] - (i < first ? from : to));
    *ret_from = from;
    *ret_to = to;
    return apart >= log(least_step) && below >= share_beside && above >= share_beside &&
           apart >= clear_of_noise * deviation_of_median * rp_median(room, count);
}

struct rp_versus_step rp_versus_step_of(const struct rp_versus_runs *series)
{
    rp_autofree double *logs = calloc(2 * series->count + 1, sizeof *logs);
    rp_autofree size_t *places = calloc(series->count + 1, sizeof *places);
    struct rp_versus_step ret = {0};
    size_t count = 0, least, first;
    double from, to;

    if (!logs || !places)
        return ret;
    for (size_t i = 0; i < series->count; i++)
        if (isfinite(series->ms[i]) && series->ms[i] > 0) {
            places[count] = i;
            logs[count++] = log(series->ms[i]);
        }
    least = count / 10 > 2 ? count / 10 : 2;
    if (count < 2 * least + 1)
        return ret;
    first = best_split(logs, count, least);
    if (is_step(logs, count, first, logs + series->count, &from, &to))
        ret = (struct rp_versus_step){
            .at = places[first] + 1, .from_ms = exp(from), .to_ms = exp(to)};
    return ret;
}

/* --- within one run ------------------------------------------------------------------------- */

/* Medians of so many blocks take the place of runs, each of consecutive launches. */
enum { BLOCKS = 12, LEAST_LAUNCHES = 2 * BLOCKS };
static const double least_covered = 0.9;

/** Holds blocks of both sides. */
struct blocks {
    double before[BLOCKS], after[BLOCKS];
};

static bool is_enough(const struct rp_versus_kernel *k)
{
    const struct rp_quantity *calls = &k->metrics[RP_COMPARE_DISPATCHES];

    return k->launches.count >= LEAST_LAUNCHES && calls->known &&
           calls->value == (double)k->launches.count;
}

/* Another number of launches is other work, of which a launch alone says nothing. */
static bool has_launches(const struct rp_versus_pair *k)
{
    return k->before && k->after && is_enough(k->before) && is_enough(k->after) &&
           k->before->launches.count == k->after->launches.count;
}

/* Adds the medians of the blocks, times the launches of the kernel. */
static bool add_medians(const struct rp_versus_runs *launches, double *room, double *to)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        const size_t end = (i + 1) * launches->count / BLOCKS;
        size_t count = 0;

        for (size_t at = i * launches->count / BLOCKS; at < end; at++)
            if (isfinite(launches->ms[at]) && launches->ms[at] > 0)
                room[count++] = launches->ms[at];
        if (!count)
            return false;
        to[i] += rp_median(room, count) * (double)launches->count;
    }
    return true;
}

static bool add_blocks(const struct rp_versus_pair *k, struct blocks *to)
{
    rp_autofree double *room = calloc(k->before->launches.count + 1, sizeof *room);

    return room && add_medians(&k->before->launches, room, to->before) &&
           add_medians(&k->after->launches, room, to->after);
}

/* The interval has the ratio of the sums, too: a few long launches are in no median. */
static void decide(const struct blocks *blocks, double ticks, double alpha,
                   struct rp_versus_time *t)
{
    struct rp_versus_shift shift =
        rp_versus_shift_of(blocks->before, BLOCKS, blocks->after, BLOCKS);
    struct rp_versus_within *within = &t->within;
    double half;

    shift.drift += ticks;
    half = rp_versus_half_interval(&shift, alpha);
    within->bounded = true;
    within->ratio = exp(shift.log_ratio);
    within->low = fmin(exp(shift.log_ratio - half), t->ratio);
    within->high = fmax(exp(shift.log_ratio + half), t->ratio);
    within->level = 1 - alpha;
    within->verdict = within->high * RP_COMPARE_BETWEEN_RUNS < 1  ? RP_COMPARE_FASTER
                      : within->low / RP_COMPARE_BETWEEN_RUNS > 1 ? RP_COMPARE_SLOWER
                                                                  : RP_COMPARE_UNDECIDED;
}

static bool has_step(const struct rp_versus_time *t)
{
    return t->before_step.at || t->after_step.at;
}

static bool counts(const struct rp_versus_pair *k)
{
    return k->time.basis == RP_COMPARE_TOO_FEW && has_launches(k);
}

static double ticks_of(const struct rp_versus_time *t, double launches)
{
    return RP_COMPARE_TICK_MS * launches * (1 / t->before_ms + 1 / t->after_ms);
}

static void decide_kernel(struct rp_versus_pair *k, double alpha)
{
    struct blocks blocks = {0};

    k->time.within.launches = k->before->launches.count;
    k->time.before_step = rp_versus_step_of(&k->before->launches);
    k->time.after_step = rp_versus_step_of(&k->after->launches);
    if (!has_step(&k->time) && add_blocks(k, &blocks))
        decide(&blocks, ticks_of(&k->time, (double)k->before->launches.count), alpha, &k->time);
}

static double launches_ms(const struct rp_versus_runs *launches)
{
    double sum = 0;

    for (size_t i = 0; i < launches->count; i++)
        sum += isnan(launches->ms[i]) ? 0 : launches->ms[i];
    return sum;
}

/* Kernels with few launches say nothing of themselves, so they may be a tenth at most. */
static void decide_whole(struct rp_versus_found *c, double alpha)
{
    struct blocks blocks = {0};
    double before = 0, after = 0;
    const struct rp_versus_time *alone = NULL;
    size_t launches = 0, stepping = 0, kernels = 0;

    for (size_t i = 0; i < c->kernel_count; i++) {
        const struct rp_versus_pair *k = &c->kernels[i];

        if (!counts(k) || !add_blocks(k, &blocks))
            continue;
        kernels++;
        before += launches_ms(&k->before->launches);
        after += launches_ms(&k->after->launches);
        launches += k->before->launches.count;
        stepping += has_step(&k->time);
        alone = &k->time;
    }
    if (!launches || before < least_covered * c->before->runs.ms[0] ||
        after < least_covered * c->after->runs.ms[0])
        return;
    c->whole.within.launches = launches;
    if (kernels == 1) {
        c->whole.before_step = alone->before_step;
        c->whole.after_step = alone->after_step;
    }
    c->whole.within.stepping = stepping;
    if (!stepping)
        decide(&blocks, ticks_of(&c->whole, (double)launches), alpha, &c->whole);
}

void rp_versus_find_within(struct rp_versus_found *c, const struct rp_versus_rule *rule)
{
    size_t count = 0;

    for (size_t i = 0; i < c->kernel_count; i++)
        count += counts(&c->kernels[i]);
    for (size_t i = 0; i < c->kernel_count; i++)
        if (counts(&c->kernels[i]))
            decide_kernel(&c->kernels[i], rule->alpha / 2 / (double)count);
    if (count && c->whole.basis == RP_COMPARE_TOO_FEW)
        decide_whole(c, rule->alpha / 2);
}

/* --- launches of a trace -------------------------------------------------------------------- */

struct launch {
    int64_t start_ns, id;
    struct rp_versus_kernel *kernel;
    double ms; /**< NAN: its times are not usable */
};

struct reading {
    struct rp_store *store;
    struct rp_versus_side *side;
    const struct rp_row_kernel *rows;
    struct rp_versus_kernel **kernels; /**< of the rows; NULL: the side does not have it */
    struct launch *list;
    size_t count, capacity;
};

static int take(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_dispatch *dispatch = row;
    struct reading *r = ctx;
    const struct rp_row_kernel *kernel =
        rp_store_find_kernel(r->store, dispatch->guid_index, dispatch->kernel_id);
    struct launch *grown;
    uint64_t ns;

    if (!kernel || !r->kernels[kernel - r->rows])
        return 0;
    grown = rp_grow(r->list, r->count, &r->capacity, sizeof *grown);
    if (!grown)
        return rp_out_of_memory(err);
    r->list = grown;
    grown[r->count++] = (struct launch){
        .start_ns = dispatch->start_ns,
        .id = dispatch->id,
        .kernel = r->kernels[kernel - r->rows],
        .ms = rp_dispatch_duration_ns(r->store, dispatch, &ns) ? (double)ns / 1e6 : NAN};
    r->kernels[kernel - r->rows]->launches.count++;
    return 0;
}

static int by_start(const void *left, const void *right)
{
    const struct launch *a = left, *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* Finds the side's kernel of each row by the name that results have. */
static int name_rows(struct reading *r, size_t count, struct rp_err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct rp_row_kernel *row = &r->rows[i];
        const char *name =
            row->display_name && *row->display_name ? row->display_name : row->kernel_name;
        rp_autofree char *plain = name ? strndup(name, rp_kernel_name_length(name)) : NULL;

        if (name && !plain)
            return rp_out_of_memory(err);
        r->kernels[i] = rp_versus_side_find(r->side, plain);
    }
    return 0;
}

static int put_launches(const struct reading *r, struct rp_err *err)
{
    for (size_t i = 0; i < r->count; i++) {
        struct rp_versus_runs *to = &r->list[i].kernel->launches;

        if (!to->ms) {
            to->ms = calloc(to->count, sizeof *to->ms);
            to->count = to->ms ? 0 : to->count;
        }
        if (!to->ms)
            return rp_out_of_memory(err);
        to->ms[to->count++] = r->list[i].ms;
    }
    return 0;
}

int rp_versus_side_add_launches(struct rp_versus_side *side, struct rp_store *store,
                                struct rp_err *err)
{
    struct reading r = {.store = store, .side = side};
    size_t count;
    int rc;

    for (size_t i = 0; i < side->kernel_count; i++)
        if (side->kernels[i].launches.count)
            return 0;
    rc = rp_store_kernels(store, &r.rows, &count, err);
    r.kernels = rc == 0 ? calloc(count + 1, sizeof *r.kernels) : NULL;
    if (rc == 0 && !r.kernels)
        rc = rp_out_of_memory(err);
    if (rc == 0)
        rc = name_rows(&r, count, err);
    if (rc == 0)
        rc = rp_store_each_work(store, take, &r, err);
    if (rc == 0 && r.count)
        qsort(r.list, r.count, sizeof *r.list, by_start);
    if (rc == 0)
        rc = put_launches(&r, err);
    for (size_t i = 0; rc < 0 && i < side->kernel_count; i++)
        if (!side->kernels[i].launches.ms)
            side->kernels[i].launches.count = 0;
    free(r.kernels);
    free(r.list);
    return rc;
}
