#include "overlap.h"

#include <stdlib.h>

#include "base/err.h"

/* Ends of what runs now, the first on top: when, since the start, and of what. */
struct running {
    uint64_t *ends;
    size_t count, room;
};

enum { IS_COPY = 1, TIME_SHIFT = 1 };

static bool push(struct running *r, uint64_t end)
{
    size_t k = r->count;

    if (r->count == r->room) {
        size_t room = r->room ? r->room * 2 : 64;
        uint64_t *grown = realloc(r->ends, room * sizeof *grown);
        if (!grown)
            return false;
        r->ends = grown;
        r->room = room;
    }
    for (; k && r->ends[(k - 1) / 2] > end; k = (k - 1) / 2)
        r->ends[k] = r->ends[(k - 1) / 2];
    r->ends[k] = end;
    r->count++;
    return true;
}

static uint64_t pop(struct running *r)
{
    uint64_t top = r->ends[0], last = r->ends[--r->count];
    size_t k = 0, child;

    while ((child = 2 * k + 1) < r->count) {
        child += child + 1 < r->count && r->ends[child + 1] < r->ends[child];
        if (r->ends[child] >= last)
            break;
        r->ends[k] = r->ends[child];
        k = child;
    }
    r->ends[k] = last;
    return top;
}

/* What runs, since when. */
struct now {
    int64_t since_ns, kernels, copies;
};

static void advance(struct now *now, int64_t to_ns, struct rp_dag_result *ret)
{
    int64_t running = now->kernels + now->copies;

    if (running >= RP_DAG_CONCURRENCY)
        running = RP_DAG_CONCURRENCY - 1;
    ret->concurrency_ns[running] += to_ns - now->since_ns;
    if (now->copies && !now->kernels)
        ret->exposed_copy_ns += to_ns - now->since_ns;
    now->since_ns = to_ns;
}

static void end_first(struct running *r, struct now *now, int64_t start_ns,
                      struct rp_dag_result *ret)
{
    uint64_t end = pop(r);

    advance(now, start_ns + (int64_t)(end >> TIME_SHIFT), ret);
    *(end & IS_COPY ? &now->copies : &now->kernels) -= 1;
}

int rp_dag_overlap(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                   const uint32_t *starts, struct rp_dag_result *ret, struct rp_err *err)
{
    struct running running = {0};
    struct now now = {.since_ns = dag->start_ns};
    bool fits = true;

    for (size_t i = 0; i < dag->op_count && fits; i++) {
        const struct rp_dag_op *op = rp_dag_op_of(trace, dag->owner[starts[i]]);
        int64_t end_ns = rp_dag_end_ns(dag, starts[i], op);
        if (end_ns <= op->start_ns)
            continue;
        while (running.count &&
               (int64_t)(running.ends[0] >> TIME_SHIFT) <= op->start_ns - dag->start_ns)
            end_first(&running, &now, dag->start_ns, ret);
        advance(&now, op->start_ns, ret);
        *(op->is_copy ? &now.copies : &now.kernels) += 1;
        /* Nothing starts before the trace does, and it lasts less than a year (build.c). */
        fits = push(&running,
                    (uint64_t)(end_ns - dag->start_ns) << TIME_SHIFT | (op->is_copy ? IS_COPY : 0));
    }
    while (running.count && fits)
        end_first(&running, &now, dag->start_ns, ret);
    free(running.ends);
    if (!fits)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    advance(&now, dag->end_ns, ret);
    return 0;
}
