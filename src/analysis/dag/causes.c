#include "causes.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "names.h"

/* The operation whose end is the last on the way of binding edges to a point. One sweep: the way to
 * a point is that to its predecessor and one edge more. */
static uint32_t last_on_way(const struct rp_dag *dag, const uint32_t *last, uint32_t edge)
{
    uint32_t item = edge == RP_DAG_NO_POINT ? RP_DAG_NONE : rp_dag_item_of(dag, edge);

    if (edge == RP_DAG_NO_POINT)
        return RP_DAG_NONE;
    return rp_dag_is_op(item) ? item & ~(uint32_t)RP_DAG_OP_BIT : last[dag->graph.from[edge]];
}

int rp_dag_causes_find(const struct rp_dag *dag, struct rp_dag_cause **ret, struct rp_err *err)
{
    const struct rp_dag_graph *g = &dag->graph;
    rp_autofree uint32_t *last = malloc((g->point_count + 1) * sizeof *last);
    struct rp_dag_cause *causes = malloc((dag->op_count + 1) * sizeof *causes);

    if (!last || !causes) {
        free(causes);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    for (uint32_t p = 0; p < g->point_count; p++) {
        uint32_t edge = rp_dag_binding(g, p);

        last[p] = last_on_way(dag, last, edge);
        if (dag->flags[p] & RP_DAG_OP_START)
            causes[dag->owner[p] & ~(uint32_t)RP_DAG_OP_BIT] = (struct rp_dag_cause){
                .op = last[p],
                .class = edge == RP_DAG_NO_POINT ? RP_DAG_UNKNOWN : rp_dag_class_of(g, edge),
            };
    }
    *ret = causes;
    return 0;
}
