#include "slack.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"

/* Backwards, a point's slot is in use from its last successor, where the latest time of the point
 * is first heard of, down to the point itself: there the slot is made ready for the one before. */
int rp_dag_slack_find(const struct rp_dag *dag, int64_t **ret, struct rp_err *err)
{
    const struct rp_dag_graph *g = &dag->graph;
    rp_autofree int64_t *latest_ns = malloc((dag->slots.count + 1) * sizeof *latest_ns);
    int64_t *slack_ns = malloc((dag->op_count + 1) * sizeof *slack_ns);

    if (!latest_ns || !slack_ns) {
        free(slack_ns);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    for (size_t k = 0; k < dag->slots.count; k++)
        latest_ns[k] = dag->end_ns;
    for (uint32_t p = (uint32_t)g->point_count; p-- > 0;) {
        int64_t here_ns = latest_ns[rp_dag_slot(&dag->slots, p)];
        latest_ns[rp_dag_slot(&dag->slots, p)] = dag->end_ns;
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++) {
            uint32_t from = g->from[e];
            int64_t t = here_ns - rp_dag_weight(g, e);
            if (t < latest_ns[rp_dag_slot(&dag->slots, from)])
                latest_ns[rp_dag_slot(&dag->slots, from)] = t;
            /* Of a collective only the rank that comes last has none to spare. */
            if (rp_dag_class_of(g, e) == RP_DAG_DURATION && rp_dag_is_op(dag->owner[from]))
                slack_ns[dag->owner[from] & ~(uint32_t)RP_DAG_OP_BIT] = t - g->time_ns[from];
        }
    }
    *ret = slack_ns;
    return 0;
}
