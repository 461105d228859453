#include "overlap.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"

struct change {
    int64_t time_ns;
    int8_t kernels, copies; /* how many more run from here on */
};

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

int rp_dag_overlap(const struct rp_dag_trace *trace, int64_t start_ns, int64_t end_ns,
                   struct rp_dag_result *ret, struct rp_err *err)
{
    rp_autofree struct change *changes = NULL;
    size_t room = 0, count = 0;
    int64_t kernels = 0, copies = 0, since_ns = start_ns;

    for (size_t i = 0; i < trace->process_count; i++)
        room += 2 * trace->processes[i].op_count;
    changes = malloc((room + 1) * sizeof *changes);
    if (!changes)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < trace->process_count; i++)
        for (size_t k = 0; k < trace->processes[i].op_count; k++) {
            const struct rp_dag_op *op = &trace->processes[i].ops[k];
            if (op->end_ns <= op->start_ns)
                continue;
            changes[count++] = (struct change){op->start_ns, !op->is_copy, op->is_copy};
            changes[count++] =
                (struct change){op->end_ns, (int8_t) - !op->is_copy, (int8_t)-op->is_copy};
        }
    qsort(changes, count, sizeof *changes, by_time);
    for (size_t i = 0; i <= count; i++) {
        int64_t now_ns = i < count ? changes[i].time_ns : end_ns, running = kernels + copies;
        if (running >= RP_DAG_CONCURRENCY)
            running = RP_DAG_CONCURRENCY - 1;
        ret->concurrency_ns[running] += now_ns - since_ns;
        if (copies && !kernels)
            ret->exposed_copy_ns += now_ns - since_ns;
        since_ns = now_ns;
        if (i < count) {
            kernels += changes[i].kernels;
            copies += changes[i].copies;
        }
    }
    return 0;
}
