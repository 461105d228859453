#include "limits.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "lanes.h"

#define KIND(k) (1u << RP_DAG_KIND_##k)

static const struct rp_dag_lane rules[RP_DAG_LIMIT_COUNT] = {
#define RP_DAG_LIMIT(id, no_time, not_there)                                                       \
    [RP_DAG_LIMIT_##id] = {.without_time = (no_time), .without = (not_there)},
#include "rocm-perf/dag_limits.def"
#undef RP_DAG_LIMIT
};

static const struct rp_dag_lane true_span = {
    .without_time = ((1u << RP_DAG_KIND_COUNT) - 1) & ~(KIND(KERNEL) | KIND(COPY)),
    .without = KIND(QUEUE),
};

static_assert((int)RP_DAG_LIMIT_COUNT < (int)RP_DAG_LANES, "limits and true span are one sweep");

const char *rp_dag_limit_name(enum rp_dag_limit limit)
{
    static const char *const names[RP_DAG_LIMIT_COUNT] = {
#define RP_DAG_LIMIT(id, no_time, not_there) [RP_DAG_LIMIT_##id] = #id,
#include "rocm-perf/dag_limits.def"
#undef RP_DAG_LIMIT
    };

    return names[limit];
}

/* --- graph capture -------------------------------------------------------------------------- */

enum chain { NO_CHAIN, IN_CHAIN };

/* Does the call end the chain of those that one graph could hold, is it one of them, or neither? */
enum role { ENDS_CHAIN, CAPTURED, NEUTRAL };

static enum role role_of(const struct rp_dag *dag, uint32_t end, const struct rp_dag_call *call)
{
    if (dag->flags[end] & RP_DAG_BLOCKED)
        return ENDS_CHAIN;
    switch ((enum rp_dag_call_kind)call->kind) {
    case RP_DAG_CALL_EVENT_RECORD:
    case RP_DAG_CALL_STREAM_WAIT:
        return CAPTURED;
    case RP_DAG_CALL_NEUTRAL:
        return NEUTRAL;
    case RP_DAG_CALL_OTHER:
        return call->op_count ? CAPTURED : ENDS_CHAIN;
    case RP_DAG_CALL_EVENT_QUERY:
    case RP_DAG_CALL_STREAM_QUERY:
    case RP_DAG_CALL_EVENT_POLL:
    case RP_DAG_CALL_STREAM_POLL:
    case RP_DAG_CALL_EVENT_SYNC:
    case RP_DAG_CALL_STREAM_SYNC:
    case RP_DAG_CALL_DEVICE_SYNC:
    case RP_DAG_CALL_STREAM_CREATE:
    case RP_DAG_CALL_OWN_SYNC:
    case RP_DAG_CALL_MAYBE_SYNC:
        return ENDS_CHAIN;
    }
    return ENDS_CHAIN;
}

/* Of each thread's calls between two that wait, all but the first that starts something. */
static int mark_captured(struct rp_dag *dag, const struct rp_dag_trace *trace, struct rp_err *err)
{
    rp_autofree size_t *first = malloc((trace->process_count + 1) * sizeof *first);
    rp_autofree uint8_t *chains = NULL;
    size_t threads = 0;

    for (size_t i = 0; first && i < trace->process_count; i++) {
        first[i] = threads;
        threads += trace->processes[i].thread_count;
    }
    chains = calloc(threads + 1, sizeof *chains);
    if (!first || !chains)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (uint32_t p = 0; p < dag->graph.point_count; p++) {
        const struct rp_dag_call *call;
        enum role role;
        uint8_t *chain;

        /* Calls of one thread end in the order in which they began. */
        if (!rp_dag_is_call(dag->owner[p]) || !rp_dag_is_end(dag, p))
            continue;
        call = rp_dag_call_of(trace, dag->owner[p]);
        chain = &chains[first[rp_dag_process_of(trace, dag->owner[p])] + call->thread];
        role = role_of(dag, p, call);
        if (*chain == IN_CHAIN && role != ENDS_CHAIN)
            dag->flags[dag->graph.from[rp_dag_first(&dag->graph, p)]] |= RP_DAG_CAPTURED;
        if (role != NEUTRAL)
            *chain = role == CAPTURED ? IN_CHAIN : NO_CHAIN;
    }
    return 0;
}

/* --- the whole ------------------------------------------------------------------------------ */

int rp_dag_limits(struct rp_dag *dag, const struct rp_dag_trace *trace, struct rp_dag_result *ret,
                  struct rp_err *err)
{
    struct rp_dag_lane lanes[RP_DAG_LIMIT_COUNT + 1];
    int rc = mark_captured(dag, trace, err);

    for (size_t i = 0; i < RP_DAG_LIMIT_COUNT; i++)
        lanes[i] = rules[i];
    lanes[RP_DAG_LIMIT_COUNT] = true_span;
    if (rc == 0)
        rc = rp_dag_lanes(dag, trace, lanes, RP_DAG_LIMIT_COUNT + 1, NULL, 0, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < RP_DAG_LIMIT_COUNT; i++)
        ret->limit_ns[i] = lanes[i].end_ns - dag->start_ns;
    ret->true_span_ns = lanes[RP_DAG_LIMIT_COUNT].end_ns - dag->start_ns;
    return 0;
}
