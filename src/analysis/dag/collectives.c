#include "collectives.h"

#include <stdlib.h>

#include "base/err.h"

/* When the last rank came to a collective: before that, the others' kernels only wait. */
static int64_t last_start(const struct rp_dag_graph *g, uint32_t common)
{
    int64_t last_ns = INT64_MIN;

    for (uint32_t e = g->first[common]; e < g->first[common + 1]; e++)
        if (g->time_ns[g->from[e]] > last_ns)
            last_ns = g->time_ns[g->from[e]];
    return last_ns;
}

static int64_t wait_of(const struct rp_dag *dag, const struct rp_dag_activity *a,
                       const struct rp_dag_op *op)
{
    int64_t until_ns = last_start(&dag->graph, a->finish);

    if (until_ns > op->end_ns)
        until_ns = op->end_ns;
    return until_ns > op->start_ns ? until_ns - op->start_ns : 0;
}

int rp_dag_collectives(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                       struct rp_dag_result *ret, struct rp_err *err)
{
    size_t kept = 0;

    ret->collectives = calloc(trace->symbol_count + 1, sizeof *ret->collectives);
    if (!ret->collectives)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < dag->activity_count; i++) {
        const struct rp_dag_activity *a = &dag->activities[i];
        const struct rp_dag_op *op = a->is_op ? &trace->processes[a->process].ops[a->index] : NULL;
        struct rp_dag_collective *c;

        if (!op || op->is_copy || !rp_dag_is_collective(trace->symbols[op->symbol]))
            continue;
        c = &ret->collectives[op->symbol];
        c->name = trace->symbols[op->symbol];
        c->count++;
        c->time_ns += op->end_ns - op->start_ns;
        if (!(dag->flags[a->finish] & RP_DAG_COMMON))
            continue;
        c->wait_known = true;
        c->wait_ns += wait_of(dag, a, op);
        ret->processes[a->process].collective_wait_ns += wait_of(dag, a, op);
    }
    for (size_t k = 0; k < trace->symbol_count; k++) /* in the order of their names */
        if (ret->collectives[k].name)
            ret->collectives[kept++] = ret->collectives[k];
    ret->collective_count = kept;
    return 0;
}
