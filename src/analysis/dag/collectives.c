#include "collectives.h"

#include <stdlib.h>

#include "base/err.h"

/* When the last rank came to a collective: before that, the others' kernels only wait. */
static int64_t last_start(const struct rp_dag_graph *g, uint32_t common)
{
    int64_t last_ns = INT64_MIN;

    for (uint32_t e = rp_dag_first(g, common); e < rp_dag_first(g, common + 1); e++)
        if (g->time_ns[g->from[e]] > last_ns)
            last_ns = g->time_ns[g->from[e]];
    return last_ns;
}

/* The ranks whose kernels end at a common point. */
static void count_waits(const struct rp_dag *dag, const struct rp_dag_trace *trace, uint32_t common,
                        struct rp_dag_result *ret)
{
    const struct rp_dag_graph *g = &dag->graph;
    int64_t last_ns = last_start(g, common);

    for (uint32_t e = rp_dag_first(g, common); e < rp_dag_first(g, common + 1); e++) {
        uint32_t item = dag->owner[g->from[e]];
        const struct rp_dag_op *op = rp_dag_op_of(trace, item);
        int64_t until_ns = last_ns < op->end_ns ? last_ns : op->end_ns;
        int64_t wait_ns = until_ns > op->start_ns ? until_ns - op->start_ns : 0;

        ret->collectives[op->symbol].wait_known = true;
        ret->collectives[op->symbol].wait_ns += wait_ns;
        ret->processes[rp_dag_process_of(trace, item)].collective_wait_ns += wait_ns;
    }
}

static void count_times(const struct rp_dag_process *p, const struct rp_dag_trace *trace,
                        struct rp_dag_result *ret)
{
    for (size_t k = 0; k < p->op_count; k++) {
        const struct rp_dag_op *op = &p->ops[k];
        struct rp_dag_collective *c = &ret->collectives[op->symbol];

        if (op->is_copy || !op->is_collective)
            continue;
        c->name = trace->symbols[op->symbol];
        c->count++;
        c->time_ns += op->end_ns - op->start_ns;
    }
}

int rp_dag_collectives(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                       struct rp_dag_result *ret, struct rp_err *err)
{
    size_t kept = 0;

    ret->collectives = calloc(trace->symbol_count + 1, sizeof *ret->collectives);
    if (!ret->collectives)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < trace->process_count; i++)
        count_times(&trace->processes[i], trace, ret);
    for (uint32_t p = 0; p < dag->graph.point_count; p++)
        if (dag->flags[p] & RP_DAG_COMMON)
            count_waits(dag, trace, p, ret);
    for (size_t k = 0; k < trace->symbol_count; k++) /* in the order of their names */
        if (ret->collectives[k].name)
            ret->collectives[kept++] = ret->collectives[k];
    ret->collective_count = kept;
    return 0;
}
