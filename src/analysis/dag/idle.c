#include "idle.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "names.h"
#include "places.h"
#include "ranges.h"

enum { COPY = 1, COLLECTIVE = 2, KERNEL = 4 };

/* Points where operations start, each agent's in one piece and by time. */
struct timeline {
    uint32_t *list;
    size_t *first;      /* per agent and one more */
    uint8_t *is_waiter; /* per symbol: a collective */
};

static const struct rp_dag_op *op_at(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                     uint32_t start)
{
    return rp_dag_op_of(trace, dag->owner[start]);
}

static uint32_t agent_at(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                         const struct rp_dag_places *places, uint32_t start)
{
    uint32_t item = dag->owner[start];

    return rp_dag_place_of(places, rp_dag_process_of(trace, item),
                           rp_dag_op_of(trace, item)->agent);
}

static int lay_out(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                   const struct rp_dag_places *places, const uint32_t *starts, size_t agents,
                   struct timeline *ret, struct rp_err *err)
{
    rp_autofree size_t *next = calloc(agents + 1, sizeof *next);
    size_t count = 0;

    ret->first = calloc(agents + 1, sizeof *ret->first);
    ret->is_waiter = calloc(trace->symbol_count + 1, sizeof *ret->is_waiter);
    ret->list = malloc((dag->op_count + 1) * sizeof *ret->list);
    if (!next || !ret->first || !ret->is_waiter || !ret->list)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t k = 0; k < trace->symbol_count; k++)
        ret->is_waiter[k] = rp_dag_is_collective(trace->symbols[k]);
    for (size_t i = 0; i < dag->op_count; i++)
        ret->first[agent_at(dag, trace, places, starts[i]) + 1]++;
    for (size_t k = 0; k < agents; k++) {
        next[k] = count;
        count = ret->first[k + 1] += count;
    }
    for (size_t i = 0; i < dag->op_count; i++)
        ret->list[next[agent_at(dag, trace, places, starts[i])]++] = starts[i];
    return 0;
}

/* --- busy ----------------------------------------------------------------------------------- */

/* Time during which any operation of the given types runs. */
struct busy {
    unsigned types;
    int64_t sum_ns, until_ns;
};

static void add_busy(struct busy *busy, unsigned type, const struct rp_dag_op *op)
{
    int64_t from_ns = op->start_ns > busy->until_ns ? op->start_ns : busy->until_ns;

    if (!(type & busy->types) || op->end_ns <= from_ns)
        return;
    busy->sum_ns += op->end_ns - from_ns;
    busy->until_ns = op->end_ns;
}

static void put_busy(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                     const struct timeline *timeline, size_t k, struct rp_dag_agent *agent)
{
    struct busy compute = {KERNEL, 0, INT64_MIN}, kernels = {KERNEL | COLLECTIVE, 0, INT64_MIN};
    struct busy all = {KERNEL | COLLECTIVE | COPY, 0, INT64_MIN};

    for (size_t i = timeline->first[k]; i < timeline->first[k + 1]; i++) {
        const struct rp_dag_op *op = op_at(dag, trace, timeline->list[i]);
        unsigned type = op->is_copy ? COPY : timeline->is_waiter[op->symbol] ? COLLECTIVE : KERNEL;
        add_busy(&compute, type, op);
        add_busy(&kernels, type, op);
        add_busy(&all, type, op);
    }
    agent->busy_ns = all.sum_ns;
    agent->exposed_copy_ns = all.sum_ns - kernels.sum_ns;
    agent->exposed_collective_ns = kernels.sum_ns - compute.sum_ns;
}

/* --- gaps ----------------------------------------------------------------------------------- */

/* Where the time of gaps goes. */
struct sums {
    struct rp_dag_agent *agent;
    struct rp_dag_names names, ranges;
    const struct rp_dag_ranges *all_ranges;
};

/* The time from from_ns to a point goes to what the point waited for, edge by edge. */
static int explain(const struct rp_dag *dag, const struct rp_dag_trace *trace, uint32_t point,
                   int64_t from_ns, int64_t until_ns, struct sums *sums, struct rp_err *err)
{
    const struct rp_dag_graph *g = &dag->graph;

    while (until_ns > from_ns) {
        uint32_t e = rp_dag_binding(g, point);
        enum rp_dag_part part = RP_DAG_PART_UNKNOWN;
        const char *name = rp_dag_part_label(part);
        const char *range = NULL;
        int64_t since_ns = from_ns;

        if (e != RP_DAG_NO_POINT) {
            uint32_t to = point;
            part = rp_dag_part_of(dag, trace, e, &name);
            point = g->from[e];
            if (g->time_ns[point] >= until_ns)
                continue;
            if (g->time_ns[point] > from_ns)
                since_ns = g->time_ns[point];
            range = rp_dag_range_of(sums->all_ranges, dag, trace, e, to, since_ns, until_ns);
        }
        sums->agent->idle_part_ns[part] += until_ns - since_ns;
        if (rp_dag_names_add(&sums->names, name, until_ns - since_ns) < 0 ||
            (range && rp_dag_names_add(&sums->ranges, range, until_ns - since_ns) < 0))
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        until_ns = since_ns;
    }
    return 0;
}

static int explain_gaps(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                        const uint32_t *list, size_t count, struct sums *sums, struct rp_err *err)
{
    struct rp_dag_agent *agent = sums->agent;
    int64_t until_ns = dag->start_ns;
    int rc = 0;

    for (size_t i = 0; i <= count && rc == 0; i++) {
        const struct rp_dag_op *op = i < count ? op_at(dag, trace, list[i]) : NULL;
        int64_t next_ns = op ? op->start_ns : dag->end_ns;
        if (next_ns > until_ns) {
            agent->idle_ns += next_ns - until_ns;
            agent->gap_count++;
            if (i == 0)
                agent->before_ns = next_ns - until_ns;
            if (i == count)
                agent->after_ns = next_ns - until_ns;
            rc = explain(dag, trace, op ? list[i] : dag->end_point, until_ns, next_ns, sums, err);
        }
        if (op && op->end_ns > until_ns)
            until_ns = op->end_ns;
    }
    return rc;
}

/* --- the whole ------------------------------------------------------------------------------ */

int rp_dag_idle(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                const struct rp_dag_ranges *ranges, const uint32_t *starts,
                struct rp_dag_result *ret, struct rp_err *err)
{
    struct rp_dag_places places = {0};
    struct timeline timeline = {0};
    struct sums sums = {.all_ranges = ranges};
    int rc = rp_dag_places_find(trace, &places, &ret->agents, &ret->agent_count, err);

    if (rc == 0)
        rc = lay_out(dag, trace, &places, starts, ret->agent_count, &timeline, err);
    for (size_t k = 0; k < ret->agent_count && rc == 0; k++) {
        size_t first = timeline.first[k];
        sums.agent = &ret->agents[k];
        put_busy(dag, trace, &timeline, k, sums.agent);
        rc = explain_gaps(dag, trace, timeline.list + first, timeline.first[k + 1] - first, &sums,
                          err);
    }
    if (rc == 0)
        rc = rp_dag_names_take(&sums.names, &ret->idle_shares, &ret->idle_share_count, err);
    if (rc == 0)
        rc = rp_dag_names_take_copies(&sums.ranges, &ret->idle_ranges, &ret->idle_range_count, err);
    rp_dag_names_free(&sums.names);
    rp_dag_names_free(&sums.ranges);
    rp_dag_places_free(&places);
    free(timeline.list);
    free(timeline.first);
    free(timeline.is_waiter);
    return rc;
}
