#include "idle.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "names.h"
#include "places.h"
#include "ranges.h"

/* A kernel or copy on its agent. */
struct busy {
    int64_t start_ns, end_ns;
    uint32_t activity;
    uint8_t type;
};

enum { COPY = 1, COLLECTIVE = 2, KERNEL = 4 };

/* Operations of all agents, each agent's in one piece and by start. */
struct timeline {
    struct busy *list;
    size_t *first; /* per agent and one more */
};

static int by_start(const void *a, const void *b)
{
    const struct busy *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->activity > y->activity) - (x->activity < y->activity);
}

static void sort_busy(struct busy *list, size_t count)
{
    size_t i = 1;

    while (i < count && by_start(&list[i - 1], &list[i]) < 0)
        i++;
    if (i < count)
        qsort(list, count, sizeof *list, by_start);
}

static const struct rp_dag_op *op_of(const struct rp_dag_trace *trace,
                                     const struct rp_dag_activity *a)
{
    return &trace->processes[a->process].ops[a->index];
}

static int lay_out(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                   const struct rp_dag_places *places, size_t agents, struct timeline *ret,
                   struct rp_err *err)
{
    rp_autofree size_t *next = calloc(agents + 1, sizeof *next);
    size_t count = 0;

    ret->first = calloc(agents + 1, sizeof *ret->first);
    if (!next || !ret->first)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < dag->activity_count; i++) {
        const struct rp_dag_activity *a = &dag->activities[i];
        if (a->is_op)
            ret->first[rp_dag_place_of(places, a->process, op_of(trace, a)->agent) + 1]++;
    }
    for (size_t k = 0; k < agents; k++) {
        next[k] = count;
        count = ret->first[k + 1] += count;
    }
    ret->list = malloc((count + 1) * sizeof *ret->list);
    if (!ret->list)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < dag->activity_count; i++) {
        const struct rp_dag_activity *a = &dag->activities[i];
        const struct rp_dag_op *op = a->is_op ? op_of(trace, a) : NULL;
        if (op)
            ret->list[next[rp_dag_place_of(places, a->process, op->agent)]++] = (struct busy){
                .start_ns = op->start_ns,
                .end_ns = op->end_ns,
                .activity = (uint32_t)i,
                .type = op->is_copy                                        ? COPY
                        : rp_dag_is_collective(trace->symbols[op->symbol]) ? COLLECTIVE
                                                                           : KERNEL,
            };
    }
    for (size_t k = 0; k < agents; k++)
        sort_busy(ret->list + ret->first[k], ret->first[k + 1] - ret->first[k]);
    return 0;
}

/* Time during which any operation of the given types runs. */
static int64_t union_ns(const struct busy *list, size_t count, unsigned types)
{
    int64_t sum_ns = 0, until_ns = INT64_MIN;

    for (size_t i = 0; i < count; i++) {
        int64_t from_ns = list[i].start_ns > until_ns ? list[i].start_ns : until_ns;
        if (!(list[i].type & types) || list[i].end_ns <= from_ns)
            continue;
        sum_ns += list[i].end_ns - from_ns;
        until_ns = list[i].end_ns;
    }
    return sum_ns;
}

/* Where the time of gaps goes. */
struct sums {
    struct rp_dag_agent *agent;
    struct rp_dag_names names, ranges;
    const struct rp_dag_ranges *all_ranges;
};

/* --- what ended a gap ----------------------------------------------------------------------- */

/* The time from from_ns to a point goes to what the point waited for, edge by edge. */
static int explain(const struct rp_dag *dag, const struct rp_dag_trace *trace, uint32_t point,
                   int64_t from_ns, int64_t until_ns, struct sums *sums, struct rp_err *err)
{
    const struct rp_dag_graph *g = &dag->graph;

    while (until_ns > from_ns) {
        uint32_t e = rp_dag_binding(g, g->time_ns, g->weight_ns, point);
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
                        const struct busy *list, size_t count, struct sums *sums,
                        struct rp_err *err)
{
    struct rp_dag_agent *agent = sums->agent;
    int64_t until_ns = dag->start_ns;
    int rc = 0;

    for (size_t i = 0; i <= count && rc == 0; i++) {
        int64_t next_ns = i < count ? list[i].start_ns : dag->end_ns;
        uint32_t point = i < count ? dag->activities[list[i].activity].start : dag->end_point;
        if (next_ns > until_ns) {
            agent->idle_ns += next_ns - until_ns;
            agent->gap_count++;
            if (i == 0)
                agent->before_ns = next_ns - until_ns;
            if (i == count)
                agent->after_ns = next_ns - until_ns;
            rc = explain(dag, trace, point, until_ns, next_ns, sums, err);
        }
        if (i < count && list[i].end_ns > until_ns)
            until_ns = list[i].end_ns;
    }
    return rc;
}

static void put_busy(const struct busy *list, size_t count, struct rp_dag_agent *agent)
{
    int64_t compute_ns = union_ns(list, count, KERNEL);
    int64_t kernels_ns = union_ns(list, count, KERNEL | COLLECTIVE);

    agent->busy_ns = union_ns(list, count, KERNEL | COLLECTIVE | COPY);
    agent->exposed_copy_ns = agent->busy_ns - kernels_ns;
    agent->exposed_collective_ns = kernels_ns - compute_ns;
}

/* --- the whole ------------------------------------------------------------------------------ */

int rp_dag_idle(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                const struct rp_dag_ranges *ranges, struct rp_dag_result *ret, struct rp_err *err)
{
    struct rp_dag_places places = {0};
    struct timeline timeline = {0};
    struct sums sums = {.all_ranges = ranges};
    int rc = rp_dag_places_find(trace, &places, &ret->agents, &ret->agent_count, err);

    if (rc == 0)
        rc = lay_out(dag, trace, &places, ret->agent_count, &timeline, err);
    for (size_t k = 0; k < ret->agent_count && rc == 0; k++) {
        const struct busy *list = timeline.list + timeline.first[k];
        size_t count = timeline.first[k + 1] - timeline.first[k];
        sums.agent = &ret->agents[k];
        put_busy(list, count, sums.agent);
        rc = explain_gaps(dag, trace, list, count, &sums, err);
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
    return rc;
}
