#include "skew.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"

/* Conversions between the clocks of GPU and host are off by some microseconds at most; more is no
 * error of conversion. */
enum { MOST_SKEW_NS = 50000 };

/* How much too early an agent's operations begin. */
struct skew {
    int32_t agent;
    int64_t by_ns;
};

struct skews {
    struct skew *list;
    size_t count;
};

static struct skew *skew_of(const struct skews *skews, int32_t agent)
{
    for (size_t i = 0; i < skews->count; i++)
        if (skews->list[i].agent == agent)
            return &skews->list[i];
    return NULL;
}

static int find_skews(const struct rp_dag_process *p, struct rp_dag_repairs *repairs,
                      struct skews *ret, struct rp_err *err)
{
    for (size_t i = 0; i < p->op_count && p->op_rows[i].call != RP_DAG_NONE; i++) {
        const struct rp_dag_op *op = &p->ops[i];
        int64_t by_ns = p->call_rows[p->op_rows[i].call].start_ns - op->start_ns;
        struct skew *skew;

        if (by_ns <= 0)
            continue;
        repairs->early_starts++;
        skew = skew_of(ret, op->agent);
        if (!skew) {
            struct skew *grown = realloc(ret->list, (ret->count + 1) * sizeof *grown);
            if (!grown)
                return rp_fail(err, RP_ENVIRONMENT, "out of memory");
            ret->list = grown;
            skew = &grown[ret->count++];
            *skew = (struct skew){.agent = op->agent};
        }
        skew->by_ns = by_ns > skew->by_ns ? by_ns : skew->by_ns;
    }
    return 0;
}

/* Markers say their queue, which is of one agent. */
static void move_marks(struct rp_dag_process *p, const struct skews *skews,
                       const int32_t *agent_of_queue, int32_t queue_count)
{
    for (size_t i = 0; i < p->mark_count; i++) {
        int32_t queue = p->marks[i].queue;
        const struct skew *skew =
            queue >= 0 && queue < queue_count ? skew_of(skews, agent_of_queue[queue]) : NULL;
        if (skew)
            p->marks[i].end_ns += skew->by_ns;
    }
}

static int move(struct rp_dag_process *p, const struct skews *skews, struct rp_err *err)
{
    rp_autofree int32_t *agent_of_queue = NULL;
    int32_t queue_count = 0;

    for (size_t i = 0; i < p->op_count; i++)
        if (p->op_rows[i].queue >= queue_count)
            queue_count = p->op_rows[i].queue + 1;
    agent_of_queue = malloc(((size_t)queue_count + 1) * sizeof *agent_of_queue);
    if (!agent_of_queue)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (int32_t q = 0; q < queue_count; q++)
        agent_of_queue[q] = -1;
    for (size_t i = 0; i < p->op_count; i++) {
        struct rp_dag_op *op = &p->ops[i];
        const struct skew *skew = skew_of(skews, op->agent);
        if (p->op_rows[i].queue >= 0)
            agent_of_queue[p->op_rows[i].queue] = op->agent;
        if (skew) {
            op->start_ns += skew->by_ns;
            op->end_ns += skew->by_ns;
        }
    }
    move_marks(p, skews, agent_of_queue, queue_count);
    return 0;
}

static int mend(struct rp_dag_process *p, struct rp_dag_repairs *repairs,
                struct rp_dag_process_fact *fact, struct rp_err *err)
{
    struct skews skews = {0};
    int rc = find_skews(p, repairs, &skews, err);
    int64_t most_ns = 0;

    for (size_t i = 0; i < skews.count; i++)
        most_ns = skews.list[i].by_ns > most_ns ? skews.list[i].by_ns : most_ns;
    if (rc == 0 && most_ns >= MOST_SKEW_NS) {
        p->clocks_apart = fact->clocks_apart = true;
    } else if (rc == 0 && most_ns > 0) {
        fact->moved_ns = most_ns;
        rc = move(p, &skews, err);
    }
    free(skews.list);
    return rc;
}

int rp_dag_mend_skew(struct rp_dag_trace *trace, struct rp_dag_result *ret, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < trace->process_count && rc == 0; i++)
        rc = mend(&trace->processes[i], &trace->repairs, &ret->processes[i], err);
    return rc;
}
