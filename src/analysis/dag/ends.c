#include "ends.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"

/* An operation whose end is looked for. */
struct lost {
    uint32_t end;      /* point */
    uint32_t bound_by; /* point that waited for it first, or RP_DAG_NONE */
    int64_t most_ns;   /* it can have lasted */
    bool late;         /* what waited for it has no reason in the trace to begin so late */
    bool only;         /* nor has it another lost end to wait for */
};

struct losses {
    struct lost *list;
    size_t count;
};

/* An end, or the common one of a collective that seems to be late on all ranks. */
static bool is_lost(const struct rp_dag *dag, uint32_t p)
{
    return (dag->flags[p] & RP_DAG_DISTRUSTED) &&
           ((dag->flags[p] & RP_DAG_COMMON) ||
            (rp_dag_is_op(dag->owner[p]) && rp_dag_is_end(dag, p)));
}

/* Is a point where a rank's part of the collective ends whose common end another one is? */
static bool ends_part_of(const struct rp_dag *dag, uint32_t p, uint32_t common)
{
    const struct rp_dag_graph *g = &dag->graph;

    return p < g->point_count && rp_dag_first(g, p) < rp_dag_first(g, p + 1) &&
           rp_dag_class_of(g, rp_dag_first(g, p)) == RP_DAG_COLLECTIVE &&
           g->from[rp_dag_first(g, p)] == common;
}

/* The last one, of a collective. */
static uint32_t start_of(const struct rp_dag *dag, uint32_t end)
{
    const struct rp_dag_graph *g = &dag->graph;
    uint32_t last = g->from[rp_dag_first(g, end)];

    for (uint32_t e = rp_dag_first(g, end);
         (dag->flags[end] & RP_DAG_COMMON) && e < rp_dag_first(g, end + 1); e++)
        if (g->time_ns[g->from[e]] > g->time_ns[last])
            last = g->from[e];
    return last;
}

static struct rp_dag_op *op_of_end(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                   uint32_t end)
{
    return rp_dag_op_of(trace, dag->owner[start_of(dag, end)]);
}

/* An end that is only stamped a little late keeps the time of the trace: durations are as recorded.
 */
static void set_end(struct rp_dag *dag, const struct rp_dag_trace *trace, uint32_t p, int64_t ns)
{
    struct rp_dag_op *op = rp_dag_op_of(trace, dag->owner[p]);

    dag->graph.time_ns[p] = ns;
    if (op->end_lost || op->end_clipped)
        op->end_ns = ns;
}

static void set_duration(struct rp_dag *dag, const struct rp_dag_trace *trace, uint32_t end,
                         int64_t duration_ns)
{
    struct rp_dag_graph *g = &dag->graph;
    int64_t ns = g->time_ns[start_of(dag, end)] + duration_ns;

    for (uint32_t e = rp_dag_first(g, end); e < rp_dag_first(g, end + 1); e++)
        if (rp_dag_class_of(g, e) == RP_DAG_DURATION)
            rp_dag_set_weight(g, e, duration_ns);
    if (!(dag->flags[end] & RP_DAG_COMMON)) {
        set_end(dag, trace, end, ns);
        return;
    }
    g->time_ns[end] = ns;
    for (uint32_t p = end + 1; ends_part_of(dag, p, end); p++)
        if (dag->flags[p] & RP_DAG_DISTRUSTED)
            set_end(dag, trace, p, ns);
}

/* One rank's part of a collective ends where those of the others do (they are the points behind the
 * common one), before what follows seems to begin. If that makes it late on all, its end is lost.
 */
static void end_in_common(struct rp_dag *dag, const struct rp_dag_trace *trace, uint32_t common)
{
    const int64_t *time_ns = dag->graph.time_ns;

    for (uint32_t p = common + 1; ends_part_of(dag, p, common); p++)
        if ((dag->flags[p] & RP_DAG_DISTRUSTED) && time_ns[p] < time_ns[common])
            dag->flags[common] |= RP_DAG_DISTRUSTED;
    if (dag->flags[common] & RP_DAG_DISTRUSTED)
        return;
    for (uint32_t p = common + 1; ends_part_of(dag, p, common); p++)
        if (dag->flags[p] & RP_DAG_DISTRUSTED) {
            set_end(dag, trace, p, time_ns[common]);
            dag->flags[p] &= ~(unsigned)RP_DAG_DISTRUSTED;
        }
}

size_t rp_dag_forget_ends(struct rp_dag *dag, const struct rp_dag_trace *trace)
{
    size_t count = 0;

    for (uint32_t p = 0; p < dag->graph.point_count; p++)
        if (dag->flags[p] & RP_DAG_COMMON)
            end_in_common(dag, trace, p);
    for (uint32_t p = 0; p < dag->graph.point_count; p++)
        if (is_lost(dag, p)) {
            set_duration(dag, trace, p, 0);
            count += rp_dag_first(&dag->graph, p + 1) - rp_dag_first(&dag->graph, p);
        }
    return count;
}

/* --- bounds --------------------------------------------------------------------------------- */

/* The earliest time of what waits for a point, less the delays up to there. */
struct bound {
    int64_t latest_ns;
    uint32_t by;
};

static struct bound bound_of(const struct rp_dag *dag, const struct bound *bounds, uint32_t p)
{
    bool is_sure = (dag->flags[p] & RP_DAG_PINNED) && !(dag->flags[p] & RP_DAG_DISTRUSTED);

    return is_sure ? (struct bound){dag->graph.time_ns[p], p} : bounds[p];
}

static void find_bounds(const struct rp_dag *dag, struct bound *bounds)
{
    const struct rp_dag_graph *g = &dag->graph;

    for (size_t p = 0; p < g->point_count; p++)
        bounds[p] = (struct bound){INT64_MAX, RP_DAG_NONE};
    for (uint32_t p = (uint32_t)g->point_count; p-- > 0;) {
        const struct bound here = bound_of(dag, bounds, p);
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1) && here.by != RP_DAG_NONE;
             e++) {
            struct bound *before = &bounds[g->from[e]];
            int64_t latest_ns = here.latest_ns - rp_dag_weight(g, e);
            if (rp_dag_weight(g, e) != RP_DAG_DROPPED_NS && latest_ns < before->latest_ns)
                *before = (struct bound){latest_ns, here.by};
        }
    }
}

/* --- what else explains a time -------------------------------------------------------------- */

/* How much later a point is than what it waits for explains. */
static int64_t unexplained_ns(const struct rp_dag *dag, uint32_t p)
{
    const struct rp_dag_graph *g = &dag->graph;
    int64_t latest_ns = dag->start_ns;

    for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++) {
        int64_t t = g->time_ns[g->from[e]] + rp_dag_weight(g, e);
        latest_ns = t > latest_ns ? t : latest_ns;
    }
    return g->time_ns[p] - latest_ns;
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* So much later than the shortest delays say begins half of the operations: no reason for it. */
static int usual_jitter(const struct rp_dag *dag, int64_t *ret_ns, struct rp_err *err)
{
    size_t count = 0;
    rp_autofree int64_t *late_ns = malloc((dag->op_count + 1) * sizeof *late_ns);

    if (!late_ns)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (uint32_t p = 0; p < dag->graph.point_count; p++)
        if (dag->flags[p] & RP_DAG_OP_START)
            late_ns[count++] = unexplained_ns(dag, p);
    qsort(late_ns, count, sizeof *late_ns, by_value);
    *ret_ns = count && late_ns[count / 2] > 0 ? late_ns[count / 2] : 0;
    return 0;
}

/* --- which lost ends it can have been ------------------------------------------------------- */

/* When a point is reached if every lost operation ends as late as it can, and by which of them:
 * RP_DAG_NONE: none, ANY_OF_SEVERAL. A recorded time tells what follows nothing of lost ends. */
struct reach {
    int64_t ns;
    uint32_t end;
};

static const uint32_t ANY_OF_SEVERAL = RP_DAG_NONE - 1;

static uint32_t either(uint32_t a, uint32_t b)
{
    if (a == RP_DAG_NONE || b == RP_DAG_NONE)
        return a == RP_DAG_NONE ? b : a;
    return a == b ? a : ANY_OF_SEVERAL;
}

/* The lost ends without which a point would be reached more than that before a time. */
static uint32_t reached_by(const struct rp_dag *dag, const struct reach *reach, uint32_t p,
                           int64_t since_ns)
{
    const struct rp_dag_graph *g = &dag->graph;
    uint32_t by = RP_DAG_NONE;

    for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++)
        if (rp_dag_weight(g, e) != RP_DAG_DROPPED_NS &&
            reach[g->from[e]].ns + rp_dag_weight(g, e) >= since_ns)
            by = either(by, reach[g->from[e]].end);
    return by;
}

static struct reach reach_of(const struct rp_dag *dag, const struct reach *reach, uint32_t p)
{
    const struct rp_dag_graph *g = &dag->graph;
    int64_t ns = INT64_MIN;

    if (dag->flags[p] & RP_DAG_PINNED)
        return (struct reach){g->time_ns[p], RP_DAG_NONE};
    for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++)
        if (rp_dag_weight(g, e) != RP_DAG_DROPPED_NS &&
            reach[g->from[e]].ns + rp_dag_weight(g, e) > ns)
            ns = reach[g->from[e]].ns + rp_dag_weight(g, e);
    return (struct reach){ns, reached_by(dag, reach, p, ns)};
}

/* A point that waited for several of them does not tell which of them it was late for. */
static int find_only(const struct rp_dag *dag, struct losses *losses, int64_t jitter_ns,
                     struct rp_err *err)
{
    const struct rp_dag_graph *g = &dag->graph;
    rp_autofree struct reach *reach = malloc((g->point_count + 1) * sizeof *reach);
    size_t next = 0;

    if (!reach)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (uint32_t p = 0; p < g->point_count; p++) { /* losses are in this order, too */
        reach[p] = reach_of(dag, reach, p);
        if (next < losses->count && losses->list[next].end == p)
            reach[p] =
                (struct reach){g->time_ns[start_of(dag, p)] + losses->list[next++].most_ns, p};
    }
    for (struct lost *l = losses->list; l < losses->list + losses->count; l++)
        l->only = l->late && reached_by(dag, reach, l->bound_by,
                                        g->time_ns[l->bound_by] - jitter_ns) == l->end;
    return 0;
}

/* --- how long others take ------------------------------------------------------------------- */

struct sample {
    uint32_t symbol;
    int64_t duration_ns;
};

struct samples {
    struct sample *list; /* by symbol, then duration */
    size_t count;
};

static int by_symbol(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;

    if (x->symbol != y->symbol)
        return x->symbol < y->symbol ? -1 : 1;
    return (x->duration_ns > y->duration_ns) - (x->duration_ns < y->duration_ns);
}

/* Durations of all that have the name of something lost. */
static int find_samples(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                        const struct losses *losses, struct samples *ret, struct rp_err *err)
{
    rp_autofree bool *wanted = calloc(trace->symbol_count + 1, sizeof *wanted);
    struct samples samples = {0};

    for (size_t i = 0; wanted && i < losses->count; i++)
        wanted[op_of_end(dag, trace, losses->list[i].end)->symbol] = true;
    samples.list = malloc((dag->op_count + 1) * sizeof *samples.list);
    if (!wanted || !samples.list) {
        free(samples.list);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    for (uint32_t p = 0; p < dag->graph.point_count; p++) {
        const struct rp_dag_op *op = rp_dag_is_op(dag->owner[p]) && rp_dag_is_end(dag, p)
                                         ? rp_dag_op_of(trace, dag->owner[p])
                                         : NULL;
        if (op && wanted[op->symbol] && !is_lost(dag, p))
            samples.list[samples.count++] = (struct sample){op->symbol, op->end_ns - op->start_ns};
    }
    qsort(samples.list, samples.count, sizeof *samples.list, by_symbol);
    *ret = samples;
    return 0;
}

/* The first sample that is not before the symbol. */
static size_t first_of(const struct samples *samples, uint32_t symbol)
{
    size_t low = 0, high = samples->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (samples->list[middle].symbol < symbol)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The median; what no other shows lasts as long as it can if its end was recorded, though wrongly,
 * else no time. */
static int64_t usual_ns(const struct samples *samples, const struct rp_dag_op *op, int64_t most_ns)
{
    size_t first = first_of(samples, op->symbol), end = first_of(samples, op->symbol + 1);
    int64_t usual = op->end_lost ? 0 : most_ns;

    if (end > first)
        usual = samples->list[first + (end - first) / 2].duration_ns;
    return usual < most_ns ? usual : most_ns;
}

/* --- the whole ------------------------------------------------------------------------------ */

static int find_losses(const struct rp_dag *dag, struct losses *ret, struct rp_err *err)
{
    rp_autofree struct bound *bounds = malloc((dag->graph.point_count + 1) * sizeof *bounds);
    int64_t jitter_ns = 0;
    int rc =
        bounds ? usual_jitter(dag, &jitter_ns, err) : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    if (rc < 0)
        return rc;
    find_bounds(dag, bounds);
    for (uint32_t p = 0; p < dag->graph.point_count; p++) {
        int64_t latest_ns = bounds[p].latest_ns < dag->end_ns ? bounds[p].latest_ns : dag->end_ns;
        uint32_t by = bounds[p].by;
        int64_t start_ns;
        if (!is_lost(dag, p))
            continue;
        start_ns = dag->graph.time_ns[start_of(dag, p)];
        ret->list[ret->count++] = (struct lost){
            .end = p,
            .bound_by = by,
            .most_ns = latest_ns > start_ns ? latest_ns - start_ns : 0,
            .late = by != RP_DAG_NONE && unexplained_ns(dag, by) > jitter_ns,
        };
    }
    return find_only(dag, ret, jitter_ns, err);
}

static void doubt(struct rp_dag *dag, const struct lost *lost)
{
    const struct rp_dag_graph *g = &dag->graph;

    for (uint32_t e = rp_dag_first(g, lost->end); e < rp_dag_first(g, lost->end + 1); e++)
        if (rp_dag_class_of(g, e) == RP_DAG_DURATION)
            dag->unsure[dag->unsure_count++] =
                (struct rp_dag_unsure){.edge = e, .most_ns = lost->most_ns};
}

int rp_dag_find_ends(struct rp_dag *dag, const struct rp_dag_trace *trace, size_t count,
                     struct rp_err *err)
{
    rp_autofree struct lost *list = malloc((count + 1) * sizeof *list);
    rp_autofree struct sample *sampled = NULL;
    struct losses losses = {.list = list};
    struct samples samples = {0};
    int rc;

    dag->unsure = malloc((count + 1) * sizeof *dag->unsure);
    rc = list && dag->unsure ? find_losses(dag, &losses, err)
                             : rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rc == 0)
        rc = find_samples(dag, trace, &losses, &samples, err);
    sampled = samples.list;
    for (size_t i = 0; i < losses.count && rc == 0; i++) {
        const struct lost *lost = &losses.list[i];
        const struct rp_dag_op *op = op_of_end(dag, trace, lost->end);
        set_duration(dag, trace, lost->end,
                     lost->late ? lost->most_ns : usual_ns(&samples, op, lost->most_ns));
        if (lost->most_ns > 0 && !lost->only)
            doubt(dag, lost);
    }
    return rc;
}
