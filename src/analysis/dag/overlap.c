#include "overlap.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "radix.h"

/* A start or an end of a kernel or copy as one number: when, since the start, and which. */
enum { IS_END = 1, IS_COPY = 2, TIME_SHIFT = 2 };

static size_t list_changes(const struct rp_dag_trace *trace, int64_t start_ns, uint64_t *changes)
{
    size_t count = 0;

    for (size_t i = 0; i < trace->process_count; i++)
        for (size_t k = 0; k < trace->processes[i].op_count; k++) {
            const struct rp_dag_op *op = &trace->processes[i].ops[k];
            uint64_t kind = op->is_copy ? IS_COPY : 0;
            if (op->end_ns <= op->start_ns)
                continue;
            /* Nothing starts before the trace does, and it lasts less than a year (build.c). */
            changes[count++] = (uint64_t)(op->start_ns - start_ns) << TIME_SHIFT | kind;
            changes[count++] = (uint64_t)(op->end_ns - start_ns) << TIME_SHIFT | kind | IS_END;
        }
    return count;
}

int rp_dag_overlap(const struct rp_dag_trace *trace, int64_t start_ns, int64_t end_ns,
                   struct rp_dag_result *ret, struct rp_err *err)
{
    rp_autofree uint64_t *changes = NULL;
    size_t room = 0, count;
    int64_t kernels = 0, copies = 0, since_ns = start_ns;

    for (size_t i = 0; i < trace->process_count; i++)
        room += 2 * trace->processes[i].op_count;
    changes = malloc((room + 1) * sizeof *changes);
    if (!changes)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    count = list_changes(trace, start_ns, changes);
    if (rp_dag_radix_sort(changes, count, err) < 0)
        return err->code;
    for (size_t i = 0; i <= count; i++) {
        int64_t running = kernels + copies, step;
        int64_t now_ns = i < count ? start_ns + (int64_t)(changes[i] >> TIME_SHIFT) : end_ns;
        if (running >= RP_DAG_CONCURRENCY)
            running = RP_DAG_CONCURRENCY - 1;
        ret->concurrency_ns[running] += now_ns - since_ns;
        if (copies && !kernels)
            ret->exposed_copy_ns += now_ns - since_ns;
        since_ns = now_ns;
        if (i == count)
            break;
        step = changes[i] & IS_END ? -1 : 1;
        copies += changes[i] & IS_COPY ? step : 0;
        kernels += changes[i] & IS_COPY ? 0 : step;
    }
    return 0;
}
