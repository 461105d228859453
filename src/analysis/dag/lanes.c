#include "lanes.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

/* Written as vectors because the compiler does not see that slots are apart. */
typedef int64_t vector __attribute__((vector_size(RP_DAG_LANES * sizeof(int64_t)), aligned(8)));

/* Per kind and lane: which bits of the weight count, and what is added to it. */
struct table {
    vector mask[RP_DAG_KIND_COUNT];
    vector bias[RP_DAG_KIND_COUNT];
};

static enum rp_dag_kind kind_of_duration(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                         uint32_t from)
{
    uint32_t owner = dag->owner[from];

    if (owner == RP_DAG_NONE)
        return RP_DAG_KIND_UNKNOWN;
    if (rp_dag_is_call(owner))
        return dag->flags[from] & RP_DAG_CAPTURED ? RP_DAG_KIND_CAPTURED_CALL : RP_DAG_KIND_CALL;
    return rp_dag_op_of(trace, owner)->is_copy ? RP_DAG_KIND_COPY : RP_DAG_KIND_KERNEL;
}

static enum rp_dag_kind kind_of(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                uint32_t e, uint32_t to)
{
    switch (rp_dag_class_of(&dag->graph, e)) {
    case RP_DAG_STREAM:
        return RP_DAG_KIND_STREAM;
    case RP_DAG_EVENT:
        return RP_DAG_KIND_EVENT;
    case RP_DAG_NULL_STREAM:
        return RP_DAG_KIND_NULL_STREAM;
    case RP_DAG_COLLECTIVE:
        return RP_DAG_KIND_COLLECTIVE;
    case RP_DAG_QUEUE:
        return RP_DAG_KIND_QUEUE;
    case RP_DAG_SYNC:
        return RP_DAG_KIND_SYNC;
    case RP_DAG_LAUNCH:
        return RP_DAG_KIND_LAUNCH;
    case RP_DAG_HOST_GAP:
        return dag->flags[to] & RP_DAG_CAPTURED ? RP_DAG_KIND_CAPTURED_GAP : RP_DAG_KIND_HOST_GAP;
    case RP_DAG_DURATION:
        return kind_of_duration(dag, trace, dag->graph.from[e]);
    case RP_DAG_UNKNOWN:
    case RP_DAG_CLASS_COUNT:
        break;
    }
    return RP_DAG_KIND_UNKNOWN;
}

static void fill_table(const struct rp_dag_lane *lanes, size_t count, struct table *ret)
{
    for (size_t kind = 0; kind < RP_DAG_KIND_COUNT; kind++)
        for (size_t k = 0; k < RP_DAG_LANES; k++) {
            bool timed = k >= count || !(lanes[k].without_time >> kind & 1);
            bool holds = k >= count || !(lanes[k].without >> kind & 1);
            ret->mask[kind][k] = timed && holds ? -1 : 0;
            ret->bias[kind][k] = holds ? 0 : RP_DAG_DROPPED_NS;
        }
}

/* ThreadSanitizer is not ready yet when the program chooses among the clones. */
#if defined(__SANITIZE_THREAD__) || defined(__clang__)
#define CPU_LEVELS
#else
#define CPU_LEVELS __attribute__((target_clones("avx512f", "avx2", "default")))
#endif

/* time: per slot. */
static CPU_LEVELS void sweep(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                             const struct table *table, const struct rp_dag_marked *marked,
                             size_t marked_count, vector *time, vector *ret_end)
{
    const struct rp_dag_graph *g = &dag->graph;
    size_t next = 0;
    vector end = (vector){0} + dag->start_ns;

    for (uint32_t p = 0; p < g->point_count; p++) {
        vector at = (vector){0} + dag->start_ns, is_later;
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++) {
            int64_t weight_ns = rp_dag_weight(g, e);
            uint32_t kind;
            vector t;
            if (weight_ns == RP_DAG_DROPPED_NS)
                continue;
            kind = kind_of(dag, trace, e, p);
            while (next < marked_count && marked[next].edge < e)
                next++;
            if (next < marked_count && marked[next].edge == e)
                kind = marked[next].kind;
            t = time[rp_dag_slot(&dag->slots, g->from[e])] + (weight_ns & table->mask[kind]) +
                table->bias[kind];
            is_later = t > at;
            at = (t & is_later) | (at & ~is_later);
        }
        time[rp_dag_slot(&dag->slots, p)] = at;
        is_later = at > end;
        end = (at & is_later) | (end & ~is_later);
    }
    *ret_end = end;
}

int rp_dag_lanes(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                 struct rp_dag_lane *lanes, size_t lane_count, const struct rp_dag_marked *marked,
                 size_t marked_count, struct rp_err *err)
{
    rp_autofree vector *time = calloc(dag->slots.count + 1, sizeof *time);
    rp_autofree struct table *table = malloc(sizeof *table);
    vector end;

    if (!time || !table)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    fill_table(lanes, lane_count, table);
    sweep(dag, trace, table, marked, marked_count, time, &end);
    for (size_t k = 0; k < lane_count; k++)
        lanes[k].end_ns = end[k];
    return 0;
}
