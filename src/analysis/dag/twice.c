#include "twice.h"

#include <string.h>

#include "base/err.h"

static bool same_ops(const struct rp_dag_process *a, const struct rp_dag_process *b)
{
    if (a->op_count != b->op_count)
        return false;
    for (size_t i = 0; i < a->op_count; i++) {
        const struct rp_dag_op *x = &a->ops[i], *y = &b->ops[i];
        if (x->start_ns != y->start_ns || x->end_ns != y->end_ns ||
            rp_dag_row_id(a, i) != rp_dag_row_id(b, i) || x->symbol != y->symbol ||
            x->is_copy != y->is_copy)
            return false;
    }
    return true;
}

static bool same_calls(const struct rp_dag_process *a, const struct rp_dag_process *b)
{
    if (a->call_count != b->call_count)
        return false;
    for (size_t i = 0; i < a->call_count; i++) {
        const struct rp_dag_call_row *x = &a->call_rows[i], *y = &b->call_rows[i];
        if (x->start_ns != y->start_ns || x->end_ns != y->end_ns ||
            a->calls[i].name != b->calls[i].name || a->calls[i].thread != b->calls[i].thread)
            return false;
    }
    return true;
}

/*
 * Databases have a name of the process that no other has. JSON and CSV do not, and a file can be
 * copied: two processes never do all that they do in the same nanoseconds.
 */
static bool are_same(const struct rp_dag_trace *trace, const struct rp_dag_process_fact *facts,
                     size_t i, size_t k)
{
    const struct rp_dag_process *a = &trace->processes[i], *b = &trace->processes[k];

    if (a->guid && b->guid && *a->guid && strcmp(a->guid, b->guid) == 0)
        return true;
    return a->machine == b->machine && facts[i].pid == facts[k].pid &&
           a->op_count + a->call_count > 0 && same_ops(a, b) && same_calls(a, b);
}

int rp_dag_refuse_twice(const struct rp_dag_trace *trace, const struct rp_dag_process_fact *facts,
                        struct rp_err *err)
{
    for (size_t i = 0; i < trace->process_count; i++)
        for (size_t k = 0; k < i; k++) {
            const char *guid = trace->processes[i].guid, *other = trace->processes[k].guid;
            if (!are_same(trace, facts, i, k))
                continue;
            if (guid && other && strcmp(guid, other) != 0)
                return rp_fail(err, RP_BAD_INPUT,
                               "process %s is given twice: %s has the same pid, calls and "
                               "operations",
                               other, guid);
            return rp_fail(err, RP_BAD_INPUT, "process %s is given twice", guid ? guid : "");
        }
    return 0;
}
