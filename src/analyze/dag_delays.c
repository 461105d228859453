/* Finds the weights of a built DAG: delays are learned from the trace so that the DAG reproduces
 * every recorded time. */
#include <stdlib.h>
#include <string.h>

#include "analyze/dag_graph.h"
#include "base/cleanup.h"
#include "base/err.h"

/* This section finds when kernels and copies ended whose end is absent from the trace, or wrong
 * there. Work that certainly waited for such an operation bounds its end from above. When that work
 * begins later than everything else explains, the operation ended right before it, if it is the
 * only lost one that can have kept it. Otherwise it is assumed to have lasted as long as others of
 * its name usually do, if the bound allows that. */

/* This is an operation whose end is looked for. */
struct lost {
    uint32_t end;      /**< point */
    uint32_t bound_by; /**< point that waited for it first, or RP_DAG_NONE */
    int64_t most_ns;   /**< it can have lasted */
    bool late;         /**< its waiter has no reason in the trace to begin so late */
    bool only;         /**< and its waiter has no other lost end to wait for */
};

struct losses {
    struct lost *list;
    size_t count;
};

/* This is an end, or the common one of a collective that seems to be late on all ranks. */
static bool is_lost(const struct rp_dag *dag, uint32_t p)
{
    return (dag->flags[p] & RP_DAG_DISTRUSTED) &&
           ((dag->flags[p] & RP_DAG_COMMON) ||
            (rp_dag_is_op(dag->owner[p]) && rp_dag_is_end(dag, p)));
}

/* Says whether a rank's part of the collective ends at the point, where the other point is its
 * common end. */
static bool ends_part_of(const struct rp_dag *dag, uint32_t p, uint32_t common)
{
    const struct rp_dag_graph *g = &dag->graph;

    return p < g->point_count && rp_dag_first(g, p) < rp_dag_first(g, p + 1) &&
           rp_dag_class_of(g, rp_dag_first(g, p)) == RP_DAG_COLLECTIVE &&
           g->from[rp_dag_first(g, p)] == common;
}

/* For a collective it is the last start. */
static uint32_t ends_start_of(const struct rp_dag *dag, uint32_t end)
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
    return rp_dag_op_of(trace, dag->owner[ends_start_of(dag, end)]);
}

/* An end that is only stamped a little late keeps the time of the trace, because durations are as
 * recorded. */
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
    int64_t ns = g->time_ns[ends_start_of(dag, end)] + duration_ns;

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
 * common one), before the next operation seems to begin. If that makes it late on all, its end is
 * lost. */
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

/** Assumes that all such operations take no time, so that nothing is learned from their ends.
 * @return how many edges lead to these, one each except for collectives */
static size_t dag_forget_ends(struct rp_dag *dag, const struct rp_dag_trace *trace)
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

/* This is the earliest time of the work that waits for a point, less the delays up to there. */
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

/* Returns how much later a point is than its predecessors explain. */
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

/* Half of the operations begin so much later than the shortest delays say, so that is no evidence.
 */
static int usual_jitter(const struct rp_dag *dag, int64_t *ret_ns, struct rp_err *err)
{
    size_t count = 0;
    rp_autofree int64_t *late_ns = malloc((dag->op_count + 1) * sizeof *late_ns);

    if (!late_ns)
        return rp_out_of_memory(err);
    for (uint32_t p = 0; p < dag->graph.point_count; p++)
        if (dag->flags[p] & RP_DAG_OP_START)
            late_ns[count++] = unexplained_ns(dag, p);
    qsort(late_ns, count, sizeof *late_ns, by_value);
    *ret_ns = count && late_ns[count / 2] > 0 ? late_ns[count / 2] : 0;
    return 0;
}

/* --- which lost ends it can have been ------------------------------------------------------- */

/* Holds when a point is reached if every lost operation ends as late as it can, and by which of
 * them: RP_DAG_NONE: none, ANY_OF_SEVERAL. A recorded time ends the influence of lost ends. */
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

/* Finds the lost ends without which a point would be reached more than that before a time. */
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

/* A point that waited for several of them does not show for which of them it was late. */
static int find_only(const struct rp_dag *dag, struct losses *losses, int64_t jitter_ns,
                     struct rp_err *err)
{
    const struct rp_dag_graph *g = &dag->graph;
    rp_autofree struct reach *reach = malloc((g->point_count + 1) * sizeof *reach);
    size_t next = 0;

    if (!reach)
        return rp_out_of_memory(err);
    for (uint32_t p = 0; p < g->point_count; p++) { /* The losses are sorted by point, too. */
        reach[p] = reach_of(dag, reach, p);
        if (next < losses->count && losses->list[next].end == p)
            reach[p] =
                (struct reach){g->time_ns[ends_start_of(dag, p)] + losses->list[next++].most_ns, p};
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
    struct sample *list; /**< by symbol, then duration */
    size_t count;
};

static int by_symbol(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;

    if (x->symbol != y->symbol)
        return x->symbol < y->symbol ? -1 : 1;
    return (x->duration_ns > y->duration_ns) - (x->duration_ns < y->duration_ns);
}

/* Collects durations of all operations that have the name of a lost one. */
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
        return rp_out_of_memory(err);
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

/* Finds the first sample that is not before the symbol. */
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

/* Returns the median. Without samples, an operation whose end was recorded wrongly lasts as long as
 * it can, and any other takes no time. */
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
    int rc = bounds ? usual_jitter(dag, &jitter_ns, err) : rp_out_of_memory(err);

    if (rc < 0)
        return rc;
    find_bounds(dag, bounds);
    for (uint32_t p = 0; p < dag->graph.point_count; p++) {
        int64_t latest_ns = bounds[p].latest_ns < dag->end_ns ? bounds[p].latest_ns : dag->end_ns;
        uint32_t by = bounds[p].by;
        int64_t start_ns;
        if (!is_lost(dag, p))
            continue;
        start_ns = dag->graph.time_ns[ends_start_of(dag, p)];
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
                (struct rp_dag_unknown_duration){.edge = e, .most_ns = lost->most_ns};
}

/** Finds these ends, once the graph has weights, and markers are as early as they can be. It fills
 * dag->unsure, and markers must be placed again. */
static int dag_find_ends(struct rp_dag *dag, const struct rp_dag_trace *trace, size_t count,
                         struct rp_err *err)
{
    rp_autofree struct lost *list = malloc((count + 1) * sizeof *list);
    rp_autofree struct sample *sampled = NULL;
    struct losses losses = {.list = list};
    struct samples samples = {0};
    int rc;

    dag->unsure = malloc((count + 1) * sizeof *dag->unsure);
    rc = list && dag->unsure ? find_losses(dag, &losses, err) : rp_out_of_memory(err);
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

/* No marker is passed on more slowly: this is the longest event delay that is tried. */
enum { LONGEST_EVENT_NS = 10000000 };

static bool is_trusted(const struct rp_dag *dag, uint32_t point)
{
    return (dag->flags[point] & RP_DAG_PINNED) && !(dag->flags[point] & RP_DAG_DISTRUSTED);
}

static bool is_packet_class(enum rp_dag_class class)
{
    return class == RP_DAG_STREAM || class == RP_DAG_QUEUE || class == RP_DAG_NULL_STREAM;
}

int64_t rp_dag_delay(const struct rp_dag *dag, enum rp_dag_class class, uint32_t to)
{
    switch (class) {
    case RP_DAG_STREAM:
    case RP_DAG_QUEUE:
    case RP_DAG_NULL_STREAM: /* A marker is reached with the packet before it. */
        return dag->flags[to] & RP_DAG_OP_START ? dag->delays.dispatch_ns : 0;
    case RP_DAG_LAUNCH:
        return dag->delays.launch_ns;
    case RP_DAG_EVENT:
        return dag->delays.event_ns;
    case RP_DAG_SYNC:
        return dag->flags[to] & RP_DAG_POLLED ? 0 : dag->delays.wake_ns;
    case RP_DAG_COLLECTIVE:
    case RP_DAG_HOST_GAP:
    case RP_DAG_DURATION:
    case RP_DAG_UNKNOWN:
    case RP_DAG_CLASS_COUNT:
        return 0;
    }
    return 0;
}

static void lower(int64_t *least, int64_t candidate)
{
    if (candidate >= 0 && candidate < *least)
        *least = candidate;
}

/* A marker behind an end that is not trusted is not trusted, either. */
static void distrust_markers(struct rp_dag *dag)
{
    const struct rp_dag_graph *g = &dag->graph;

    for (uint32_t p = 0; p < g->point_count; p++)
        for (uint32_t e = rp_dag_first(g, p);
             e < rp_dag_first(g, p + 1) && !(dag->flags[p] & RP_DAG_PINNED); e++)
            dag->flags[p] |= dag->flags[g->from[e]] & RP_DAG_DISTRUSTED;
}

/* --- ends that what waits for them contradicts ------------------------------------------------ */

/* Says whether the end of the edge can never begin before its start ends, whatever the delays are.
 */
static bool is_wait(enum rp_dag_class class)
{
    return is_packet_class(class) || class == RP_DAG_EVENT || class == RP_DAG_SYNC;
}

/* An end that is stamped a little late was before its waiter began. */
static void take_back(struct rp_dag *dag, const struct rp_dag_trace *trace, uint32_t end,
                      int64_t ns, struct rp_dag_repairs *repairs)
{
    int64_t late_ns = dag->graph.time_ns[end] - ns;
    uint32_t item = dag->owner[end];

    if (late_ns <= 0 || late_ns > RP_DAG_LATE_END_NS || !rp_dag_is_op(item) ||
        !rp_dag_is_end(dag, end) || rp_dag_op_of(trace, item)->start_ns > ns)
        return;
    dag->graph.time_ns[end] = ns;
    rp_dag_note_late(repairs, rp_dag_op_of(trace, item), ns);
    if (!trace->processes[rp_dag_process_of(trace, item)].late_ns)
        dag->flags[end] |= RP_DAG_DISTRUSTED;
}

/* Neighbours in queues and streams are corrected while the graph is built. This handles those
 * behind markers, and behind waits of other streams: markers get the first time of their waiters,
 * for the moment. */
static void take_back_ends(struct rp_dag *dag, const struct rp_dag_trace *trace,
                           struct rp_dag_repairs *repairs)
{
    struct rp_dag_graph *g = &dag->graph;

    for (uint32_t p = 0; p < g->point_count; p++)
        if (!(dag->flags[p] & RP_DAG_PINNED))
            g->time_ns[p] = INT64_MAX;
    for (uint32_t p = g->point_count; p-- > 0;)
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++) {
            uint32_t from = g->from[e];
            if (g->time_ns[from] <= g->time_ns[p] || !is_wait(rp_dag_class_of(g, e)))
                continue; /* Nearly all of tens of millions are skipped here. */
            if (dag->flags[from] & RP_DAG_PINNED)
                take_back(dag, trace, from, g->time_ns[p], repairs);
            else if (g->time_ns[p] < g->time_ns[from])
                g->time_ns[from] = g->time_ns[p];
        }
}

/* --- events: markers are not in most traces ------------------------------------------------- */

/* Computes the weight of an edge from the delays, or from the trace for an edge with a length of
 * its own. */
static int64_t weigh(const struct rp_dag *dag, uint32_t e, uint32_t to)
{
    const struct rp_dag_graph *g = &dag->graph;

    if (rp_dag_class_of(g, e) == RP_DAG_HOST_GAP ||
        (rp_dag_class_of(g, e) == RP_DAG_DURATION && !(dag->flags[to] & RP_DAG_BLOCKED)))
        return g->time_ns[to] - g->time_ns[g->from[e]];
    return rp_dag_delay(dag, rp_dag_class_of(g, e), to);
}

/* Lists the points before unpinned ones, and these themselves: an event's delay moves all of them.
 */
struct unpinned_points {
    uint32_t *points;
    size_t count, room;
};

static bool add_unpinned(struct unpinned_points *near, uint32_t p)
{
    if (near->count == near->room) {
        size_t room = near->room ? near->room * 2 : 1024;
        uint32_t *grown = realloc(near->points, room * sizeof *grown);
        if (!grown)
            return false;
        near->points = grown;
        near->room = room;
    }
    near->points[near->count++] = p;
    return true;
}

/* Holds the delays that can be learned where both ends of an edge are in the trace; INT64_MAX:
 * nothing. */
struct shortest {
    int64_t launch_ns, event_ns;
    int64_t dispatch_ns; /**< of operations that stood in their queue when the one before ended */
    int64_t gap_ns;      /**< of the others, whose launch may have come later: at most the delay */
    bool any_event;
};

/* Says whether the operation that begins at a point was launched by then. Where no call launched
 * it, as inside a graph, it was. */
static bool was_queued(const struct rp_dag *dag, uint32_t p, int64_t by_ns)
{
    const struct rp_dag_graph *g = &dag->graph;

    for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++)
        if (rp_dag_class_of(g, e) == RP_DAG_LAUNCH && g->time_ns[g->from[e]] > by_ns)
            return false;
    return true;
}

/* Learns from one edge. */
static void learn(const struct rp_dag *dag, uint32_t e, uint32_t to, struct shortest *least)
{
    const struct rp_dag_graph *g = &dag->graph;
    enum rp_dag_class class = rp_dag_class_of(g, e);
    int64_t apart_ns = g->time_ns[to] - g->time_ns[g->from[e]];

    least->any_event |= class == RP_DAG_EVENT;
    if (!is_trusted(dag, g->from[e]))
        return;
    if (class == RP_DAG_EVENT && is_trusted(dag, to))
        lower(&least->event_ns, apart_ns);
    else if (class == RP_DAG_LAUNCH && (dag->flags[to] & RP_DAG_OP_START) && is_trusted(dag, to))
        lower(&least->launch_ns, apart_ns);
    else if (is_packet_class(class) && (dag->flags[to] & RP_DAG_OP_START))
        lower(was_queued(dag, to, g->time_ns[g->from[e]]) ? &least->dispatch_ns : &least->gap_ns,
              apart_ns);
}

/* Both are done in one pass, because the trace may have tens of millions of points. */
static int scan_points(const struct rp_dag *dag, struct shortest *least,
                       struct unpinned_points *ret, struct rp_err *err)
{
    const struct rp_dag_graph *g = &dag->graph;
    struct unpinned_points near = {0};

    *least = (struct shortest){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, false};
    for (uint32_t p = 0, e = 0; p < g->point_count; p++) {
        bool is_near = !(dag->flags[p] & RP_DAG_PINNED);
        for (uint32_t end = rp_dag_first(g, p + 1); e < end; e++) {
            is_near |= !(dag->flags[g->from[e]] & RP_DAG_PINNED);
            learn(dag, e, p, least);
        }
        if (is_near && !add_unpinned(&near, p)) {
            free(near.points);
            return rp_out_of_memory(err);
        }
    }
    *ret = near;
    return 0;
}

/* Places the markers as early as they can be.
 * @return whether all of them are early enough for their successors; if only that is asked, it
 * stops at the first that is not */
static bool place_markers(struct rp_dag *dag, const struct unpinned_points *near, bool only_ask)
{
    struct rp_dag_graph *g = &dag->graph;
    bool early = true;

    for (size_t i = 0; i < near->count && (early || !only_ask); i++) {
        uint32_t p = near->points[i];
        bool pinned = dag->flags[p] & RP_DAG_PINNED;
        int64_t latest = INT64_MIN;
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++) {
            uint32_t u = g->from[e];
            int64_t t;
            if (pinned && (dag->flags[u] & RP_DAG_PINNED))
                continue;
            /* Its end is not known, so it is no evidence of anything being late. */
            if (only_ask && (dag->flags[u] & RP_DAG_DISTRUSTED))
                continue;
            t = g->time_ns[u] + weigh(dag, e, p);
            if (t > latest)
                latest = t;
        }
        if (!pinned)
            g->time_ns[p] = latest;
        else
            early &= latest <= g->time_ns[p];
    }
    return early;
}

/* Returns the longest delay with no point later than recorded, or none if all are short enough. */
static int64_t longest_event_ns(struct rp_dag *dag, const struct unpinned_points *near)
{
    int64_t low = 0, high = LONGEST_EVENT_NS;

    while (low < high) {
        dag->delays.event_ns = low + (high - low + 1) / 2;
        if (place_markers(dag, near, true))
            low = dag->delays.event_ns;
        else
            high = dag->delays.event_ns - 1;
    }
    return low == LONGEST_EVENT_NS ? 0 : low;
}

/* Where each kernel was launched after the one before it had ended, the gaps between them are the
 * host's. A launch ends with the same work of the packet processor, so it takes no less. */
static int64_t dispatch_delay(const struct shortest *least, int64_t launch_ns)
{
    if (least->dispatch_ns != INT64_MAX)
        return least->dispatch_ns < least->gap_ns ? least->dispatch_ns : least->gap_ns;
    if (least->gap_ns == INT64_MAX)
        return 0;
    return least->gap_ns < launch_ns ? least->gap_ns : launch_ns;
}

/* Learns all delays except those of blocking calls. The points are returned for settle_ends. */
static int learn_delays(struct rp_dag *dag, struct unpinned_points *ret, struct rp_err *err)
{
    struct shortest least;
    int rc = scan_points(dag, &least, ret, err);

    if (rc < 0)
        return rc;
    dag->delays.launch_ns = least.launch_ns == INT64_MAX ? 0 : least.launch_ns;
    if (dag->delays.launch_ns > RP_DAG_LONGEST_LAUNCH_NS)
        dag->delays.launch_ns = RP_DAG_LONGEST_LAUNCH_NS;
    dag->delays.dispatch_ns = dispatch_delay(&least, dag->delays.launch_ns);
    dag->delays.event_ns = least.event_ns == INT64_MAX ? 0 : least.event_ns;
    if (least.any_event && least.event_ns == INT64_MAX)
        dag->delays.event_ns = longest_event_ns(dag, ret);
    place_markers(dag, ret, false);
    return 0;
}

/* A collective lasts from its last start on, on every rank. */
static void settle_collectives(struct rp_dag *dag)
{
    struct rp_dag_graph *g = &dag->graph;

    for (uint32_t p = 0; p < g->point_count; p++) {
        int64_t least = INT64_MAX;
        if (!(dag->flags[p] & RP_DAG_COMMON))
            continue;
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++)
            least = rp_dag_weight(g, e) < least ? rp_dag_weight(g, e) : least;
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++)
            rp_dag_set_weight(g, e, least > 0 ? least : 0);
    }
}

/* --- blocking calls ------------------------------------------------------------------------- */

/* Returns when the last work is done that a call waits for.
 * @return false: a time of it was corrected */
static bool last_waited(const struct rp_dag *dag, uint32_t p, int64_t *ret_ns)
{
    const struct rp_dag_graph *g = &dag->graph;
    bool trusted = true;

    *ret_ns = INT64_MIN;
    for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++) {
        if (rp_dag_class_of(g, e) != RP_DAG_SYNC)
            continue;
        trusted &= !(dag->flags[g->from[e]] & RP_DAG_DISTRUSTED);
        if (g->time_ns[g->from[e]] > *ret_ns)
            *ret_ns = g->time_ns[g->from[e]];
    }
    return trusted;
}

static void learn_wake(struct rp_dag *dag)
{
    int64_t wake = INT64_MAX, waited_ns;

    for (uint32_t p = 0; p < dag->graph.point_count; p++)
        if ((dag->flags[p] & RP_DAG_BLOCKED) && !(dag->flags[p] & RP_DAG_POLLED) &&
            last_waited(dag, p, &waited_ns))
            lower(&wake, dag->graph.time_ns[p] - waited_ns);
    dag->delays.wake_ns = wake == INT64_MAX ? 0 : wake;
}

/* Returns the call that ends at a point, or NULL. */
static const struct rp_dag_call *call_ending(const struct rp_dag *dag,
                                             const struct rp_dag_trace *trace, uint32_t p)
{
    return rp_dag_is_call(dag->owner[p]) && rp_dag_is_end(dag, p)
               ? rp_dag_call_of(trace, dag->owner[p])
               : NULL;
}

/* Returns a call that waits, or could have, that ends at a point; or NULL. */
static const struct rp_dag_call *blocking_call(const struct rp_dag *dag,
                                               const struct rp_dag_trace *trace, uint32_t p)
{
    const struct rp_dag_call *call = call_ending(dag, trace, p);

    return call && ((dag->flags[p] & RP_DAG_BLOCKED) || call->kind == RP_DAG_CALL_EVENT_SYNC ||
                    call->kind == RP_DAG_CALL_STREAM_SYNC ||
                    call->kind == RP_DAG_CALL_DEVICE_SYNC ||
                    call->kind == RP_DAG_CALL_EVENT_QUERY || call->kind == RP_DAG_CALL_STREAM_QUERY)
               ? call
               : NULL;
}

static int64_t start_of(const struct rp_dag *dag, uint32_t end)
{
    return dag->graph.time_ns[dag->graph.from[rp_dag_first(&dag->graph, end)]];
}

/* Returns the cost of a call that ends at a point and need not wait; INT64_MAX if it had to. */
static int64_t cost_of(const struct rp_dag *dag, uint32_t p)
{
    int64_t waited_ns = INT64_MIN / 2, end_ns = dag->graph.time_ns[p], start_ns = start_of(dag, p);
    bool blocked = dag->flags[p] & RP_DAG_BLOCKED;

    /* Waking up takes a little longer now and then, which is no cost of the call: only work that
     * was done before the call began certainly did not hold it up. */
    if (!blocked || (last_waited(dag, p, &waited_ns) && waited_ns <= start_ns &&
                     end_ns > waited_ns + dag->delays.wake_ns))
        return end_ns - start_ns;
    return INT64_MAX;
}

/* Finds for each name the shortest blocking call that did not wait; INT64_MAX: all did.
 * @return for those the time of the cheapest other one, 0 if there is none either */
static int64_t learn_costs(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                           int64_t *least_ns)
{
    int64_t cheapest_ns = INT64_MAX;

    for (size_t k = 0; k < trace->call_name_count; k++)
        least_ns[k] = INT64_MAX;
    for (uint32_t p = 0; p < dag->graph.point_count; p++) {
        const struct rp_dag_call *call = blocking_call(dag, trace, p);
        int64_t cost_ns = call ? cost_of(dag, p) : INT64_MAX;
        if (cost_ns == INT64_MAX)
            continue;
        least_ns[call->name] = cost_ns < least_ns[call->name] ? cost_ns : least_ns[call->name];
        cheapest_ns = cost_ns < cheapest_ns ? cost_ns : cheapest_ns;
    }
    return cheapest_ns == INT64_MAX ? 0 : cheapest_ns;
}

static int settle_costs(struct rp_dag *dag, const struct rp_dag_trace *trace, struct rp_err *err)
{
    struct rp_dag_graph *g = &dag->graph;
    rp_autofree int64_t *least_ns = malloc((trace->call_name_count + 1) * sizeof *least_ns);
    int64_t cheapest_ns;

    if (!least_ns)
        return rp_out_of_memory(err);
    cheapest_ns = learn_costs(dag, trace, least_ns);
    for (uint32_t p = 0; p < g->point_count; p++) {
        int64_t took_ns, likely_ns;
        if (!(dag->flags[p] & RP_DAG_BLOCKED))
            continue;
        took_ns = g->time_ns[p] - start_of(dag, p);
        likely_ns = least_ns[call_ending(dag, trace, p)->name];
        if (likely_ns == INT64_MAX) {
            dag->delays.unknown_costs++;
            likely_ns = cheapest_ns;
        }
        rp_dag_set_weight(g, rp_dag_first(g, p), likely_ns < took_ns ? likely_ns : took_ns);
    }
    return 0;
}

/* --- agreement ------------------------------------------------------------------------------ */

/* Packets without the barrier bit may run at the same time as the one before them. */
static bool is_between_kernels(const struct rp_dag *dag, uint32_t e, uint32_t to)
{
    enum rp_dag_class class = rp_dag_class_of(&dag->graph, e);

    return (class == RP_DAG_QUEUE || class == RP_DAG_STREAM) &&
           (dag->flags[to] & RP_DAG_OP_START) && dag->owner[dag->graph.from[e]] != RP_DAG_NONE;
}

/* Makes the edges into a point agree with its recorded time: edges that would make it later are
 * shortened or dropped, and missing time goes to the edge that binds. */
static void agree(struct rp_dag *dag, uint32_t p, struct rp_dag_repairs *repairs)
{
    struct rp_dag_graph *g = &dag->graph;
    int64_t recorded = g->time_ns[p], missing;
    uint32_t binding;

    if (rp_dag_first(g, p) == rp_dag_first(g, p + 1))
        return;
    for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++) {
        int64_t room_ns = recorded - g->time_ns[g->from[e]];
        if (rp_dag_weight(g, e) <= room_ns)
            continue;
        if (room_ns >= 0 || rp_dag_class_of(g, e) == RP_DAG_DURATION ||
            rp_dag_class_of(g, e) == RP_DAG_HOST_GAP) {
            rp_dag_set_weight(g, e, room_ns);
            repairs->clamped_edges++;
        } else {
            rp_dag_set_weight(g, e, RP_DAG_DROPPED_NS);
            (*(is_between_kernels(dag, e, p) ? &repairs->concurrent : &repairs->dropped_edges))++;
        }
    }
    binding = rp_dag_binding(g, p);
    if (rp_dag_weight(g, binding) == RP_DAG_DROPPED_NS) {
        /* All are contradicted, so only the start of the trace is known to come before it. */
        g->from[binding] = 0;
        rp_dag_set_weight(g, binding, 0);
        rp_dag_set_kind(g, binding, RP_DAG_UNKNOWN, RP_DAG_INFERRED);
    }
    missing = recorded - g->time_ns[g->from[binding]] - rp_dag_weight(g, binding);
    rp_dag_set_weight(g, binding, rp_dag_weight(g, binding) + missing);
}

static bool is_marker(const struct rp_dag *dag, uint32_t p)
{
    return p > 0 && dag->owner[p] == RP_DAG_NONE && !(dag->flags[p] & RP_DAG_COMMON);
}

/* If delays place a marker a little behind the start of its waiter, it was before that: otherwise a
 * whole dependency would be dropped because of some nanoseconds. From then on it has a time of its
 * own, with which the edges into it are made to agree. */
static void take_back_markers(struct rp_dag *dag)
{
    struct rp_dag_graph *g = &dag->graph;

    for (uint32_t p = g->point_count; p-- > 0;)
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++) {
            uint32_t from = g->from[e];
            int64_t late_ns = g->time_ns[from] - g->time_ns[p];
            if (!is_marker(dag, from) || late_ns <= 0 || late_ns > RP_DAG_LATE_END_NS)
                continue;
            g->time_ns[from] = g->time_ns[p];
            dag->flags[from] |= RP_DAG_PINNED;
        }
}

static void find_end(struct rp_dag *dag)
{
    const struct rp_dag_graph *g = &dag->graph;

    dag->end_point = 0;
    for (uint32_t p = 1; p < g->point_count; p++)
        if (g->time_ns[p] > g->time_ns[dag->end_point])
            dag->end_point = p;
    dag->end_ns = g->time_ns[dag->end_point];
}

/* Computes weights from the delays, for which the markers must stand as early as possible. */
static int weigh_all(struct rp_dag *dag, const struct rp_dag_trace *trace, struct rp_err *err)
{
    struct rp_dag_graph *g = &dag->graph;

    learn_wake(dag);
    for (uint32_t p = 0, e = 0; p < g->point_count; p++)
        for (uint32_t end = rp_dag_first(g, p + 1); e < end; e++)
            rp_dag_set_weight(g, e, weigh(dag, e, p));
    settle_collectives(dag);
    return settle_costs(dag, trace, err);
}

/* Once the missing ends of operations are known, markers can be behind them. */
static int settle_ends(struct rp_dag *dag, const struct rp_dag_trace *trace, size_t count,
                       const struct unpinned_points *near, struct rp_err *err)
{
    int rc = dag_find_ends(dag, trace, count, err);

    if (rc == 0)
        place_markers(dag, near, false);
    return rc;
}

int rp_dag_learn_delays(struct rp_dag *dag, struct rp_dag_trace *trace, struct rp_err *err)
{
    struct unpinned_points near = {0};
    size_t lost;
    int rc;

    rp_dag_weigh(&dag->graph);
    if (dag->graph.failed)
        return rp_out_of_memory(err);
    take_back_ends(dag, trace, &trace->repairs);
    lost = dag_forget_ends(dag, trace);
    if (lost)
        distrust_markers(dag);
    rc = learn_delays(dag, &near, err);
    if (rc == 0)
        rc = weigh_all(dag, trace, err);
    if (rc == 0 && lost)
        rc = settle_ends(dag, trace, lost, &near, err);
    free(near.points);
    if (rc < 0)
        return rc;
    take_back_markers(dag);
    for (uint32_t p = 0; p < dag->graph.point_count; p++)
        if (dag->flags[p] & RP_DAG_PINNED)
            agree(dag, p, &trace->repairs);
    find_end(dag);
    return dag->graph.failed ? rp_out_of_memory(err) : 0;
}
