#include "usual.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "build.h"

/* Facts of the field: waits are handed on within some microseconds. */
enum { LEAST_REACH_NS = 10000, GAPS_OF_REACH = 3 };

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Gaps between consecutive operations of each stream, in the order of the operations. */
static size_t stream_gaps(const struct rp_dag_process *p, const struct rp_dag_streams *streams,
                          int64_t *last_end_ns, int64_t *gaps)
{
    size_t count = 0;

    for (int32_t k = 0; k < streams->stream_count; k++)
        last_end_ns[k] = INT64_MAX;
    for (size_t i = 0; i < p->op_count; i++) {
        const struct rp_dag_op *op = &p->ops[i];
        int32_t stream = p->op_rows[i].stream;
        if (stream < 0)
            continue;
        if (op->start_ns >= last_end_ns[stream])
            gaps[count++] = op->start_ns - last_end_ns[stream];
        last_end_ns[stream] = op->end_ns;
    }
    return count;
}

int rp_dag_usual_find(const struct rp_dag_process *p, const struct rp_dag_streams *streams,
                      struct rp_dag_usual *ret, struct rp_err *err)
{
    rp_autofree int64_t *ends = malloc((size_t)streams->stream_count * sizeof *ends);
    rp_autofree int64_t *gaps = malloc((p->op_count + 1) * sizeof *gaps);
    struct rp_dag_usual usual = {.launch_ns = INT64_MAX, .wake_ns = INT64_MAX};
    size_t count;

    if (!ends || !gaps)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    count = stream_gaps(p, streams, ends, gaps);
    qsort(gaps, count, sizeof *gaps, by_value);
    usual.gap_ns = !count ? 0 : gaps[0] < RP_DAG_LONGEST_GAP_NS ? gaps[0] : RP_DAG_LONGEST_GAP_NS;
    usual.jitter_ns = count ? gaps[count / 2] : 0;
    usual.reach_ns = usual.jitter_ns * GAPS_OF_REACH;
    if (usual.reach_ns < LEAST_REACH_NS)
        usual.reach_ns = LEAST_REACH_NS;
    for (size_t i = 0; i < p->op_count && p->op_rows[i].call != RP_DAG_NONE; i++) {
        const struct rp_dag_op *op = &p->ops[i];
        uint32_t number = p->op_rows[i].call;
        const struct rp_dag_call_row *call = &p->call_rows[number];
        int64_t launch = op->start_ns - call->start_ns, wake = call->end_ns - op->end_ns;
        if (launch >= 0 && launch < usual.launch_ns)
            usual.launch_ns = launch;
        if (p->calls[number].kind == RP_DAG_CALL_OWN_SYNC && wake >= 0 && wake < usual.wake_ns)
            usual.wake_ns = wake;
    }
    if (usual.launch_ns == INT64_MAX)
        usual.launch_ns = 0;
    if (usual.wake_ns == INT64_MAX)
        usual.wake_ns = 0;
    *ret = usual;
    return 0;
}
