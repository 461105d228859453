#include "load.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

/* Streams and queues are numbered from 0; anything else is not one of them. */
static int32_t small_id(int64_t id)
{
    return id >= 0 && id < 1 << 20 ? (int32_t)id : -1;
}

static bool is_time(struct rp_dag_repairs *repairs, int64_t start_ns, int64_t end_ns)
{
    if (start_ns > 0 && end_ns > 0) {
        repairs->zero_durations += start_ns == end_ns;
        repairs->negative_durations += end_ns < start_ns;
        return true;
    }
    repairs->never_ended++;
    return false;
}

/* --- kernels and copies --------------------------------------------------------------------- */

static const char *kernel_name(const struct rp_store *store, uint32_t guid_index, int64_t id)
{
    const struct rp_row_kernel *kernel = rp_store_find_kernel(store, guid_index, id);

    return !kernel                 ? "unknown kernel"
           : *kernel->display_name ? kernel->display_name
                                   : kernel->kernel_name;
}

static uint32_t symbol_of_kernel(struct rp_dag_loader *l, uint32_t guid_index, int64_t id)
{
    size_t at = ((uint64_t)id ^ guid_index * 7u) % RP_DAG_KERNELS_CACHED;

    if (!l->kernels[at].used || l->kernels[at].id != id ||
        l->kernels[at].guid_index != guid_index) {
        l->kernels[at].id = id;
        l->kernels[at].guid_index = guid_index;
        l->kernels[at].symbol =
            rp_dag_symbols_add(l->symbols, kernel_name(l->store, guid_index, id));
        l->kernels[at].used = l->kernels[at].symbol != UINT32_MAX;
    }
    return l->kernels[at].symbol;
}

static int add_op(struct rp_dag_loader *l, uint32_t guid_index, struct rp_dag_op op,
                  int64_t correlation_id, struct rp_err *err)
{
    struct rp_dag_loading *p = rp_dag_loading_of(l, guid_index);

    if (!p || op.symbol == UINT32_MAX ||
        !rp_dag_room(&p->process.ops, p->process.op_count, &p->op_room, sizeof op))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    op.end_lost = op.end_ns <= op.start_ns;
    op.end_ns = op.end_lost ? op.start_ns : op.end_ns;
    op.call = rp_dag_outer_call(p, correlation_id);
    p->process.ops[p->process.op_count++] = op;
    return 0;
}

static int take_launch(void *ctx, const void *row, struct rp_err *err)
{
    struct rp_dag_loader *l = ctx;
    const struct rp_row_launch *r = row;
    const struct rp_dag_op op = {
        .start_ns = r->start_ns,
        .end_ns = r->end_ns,
        .row_id = r->dispatch_id,
        .symbol = symbol_of_kernel(l, r->guid_index, r->kernel_id),
        .stream = small_id(r->stream_id),
        .queue = small_id(r->queue_id),
        .agent = small_id(r->agent_id),
    };

    return is_time(l->repairs, r->start_ns, r->end_ns)
               ? add_op(l, r->guid_index, op, r->correlation_id, err)
               : 0;
}

static int take_copy(void *ctx, const void *row, struct rp_err *err)
{
    struct rp_dag_loader *l = ctx;
    const struct rp_row_copy *r = row;
    const struct rp_dag_op op = {
        .start_ns = r->start_ns,
        .end_ns = r->end_ns,
        .row_id = r->id,
        .symbol = rp_dag_symbols_add(l->symbols, r->name),
        .stream = small_id(r->stream_id),
        .queue = -1,
        .agent = small_id(r->dst_agent_id > r->src_agent_id ? r->dst_agent_id : r->src_agent_id),
        .is_copy = true,
    };

    return is_time(l->repairs, r->start_ns, r->end_ns)
               ? add_op(l, r->guid_index, op, r->correlation_id, err)
               : 0;
}

int rp_dag_load_ops(struct rp_dag_loader *l, struct rp_err *err)
{
    const struct rp_row_kernel *kernels;
    size_t count;
    int rc = rp_store_kernels(l->store, &kernels, &count, err);

    if (rc == 0)
        rc = rp_store_each_launch(l->store, take_launch, l, err);
    for (size_t i = 0; i < l->count; i++)
        l->list[i].last_found = 0;
    return rc < 0 ? rc : rp_store_each_copy(l->store, take_copy, l, err);
}

/* --- markers -------------------------------------------------------------------------------- */

static int take_mark(void *ctx, const void *row, struct rp_err *err)
{
    struct rp_dag_loader *l = ctx;
    const struct rp_row_hip_event *r = row;
    struct rp_dag_loading *p = rp_dag_loading_of(l, r->guid_index);
    struct rp_dag_process *process = p ? &p->process : NULL;
    uint32_t call;

    if (!p ||
        !rp_dag_room(&process->marks, process->mark_count, &p->mark_room, sizeof *process->marks))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (r->end_ns <= 0) {
        l->repairs->never_ended++;
        return 0;
    }
    call = rp_dag_outer_call(p, r->correlation_id);
    if (call != RP_DAG_NONE)
        process->calls[call].mark = (uint32_t)process->mark_count;
    process->marks[process->mark_count++] = (struct rp_dag_mark){
        .end_ns = r->end_ns,
        .queue = small_id(r->queue_id),
        .stream = small_id(r->stream_id),
    };
    return 0;
}

int rp_dag_load_marks(struct rp_dag_loader *l, struct rp_err *err)
{
    return rp_store_each_hip_event(l->store, take_mark, l, err);
}

/* --- order ---------------------------------------------------------------------------------- */

/* A stream is in one queue at a time. A trace whose only stream is 0, but in several queues, has no
 * streams at all: there each queue is one. */
static void settle_streams(struct rp_dag_process *p)
{
    int32_t queue = -1;
    bool several = false;

    for (size_t i = 0; i < p->op_count; i++) {
        if (p->ops[i].stream > 0)
            return;
        if (p->ops[i].is_copy)
            continue;
        several |= queue >= 0 && p->ops[i].queue != queue;
        queue = p->ops[i].queue;
    }
    for (size_t i = 0; i < p->op_count && several; i++)
        p->ops[i].stream = p->ops[i].is_copy ? -1 : p->ops[i].queue;
}

static int in_order(const void *a, const void *b)
{
    const struct rp_dag_op *x = a, *y = b;

    if (x->call != y->call)
        return x->call < y->call ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->is_copy != y->is_copy)
        return x->is_copy ? 1 : -1;
    return (x->row_id > y->row_id) - (x->row_id < y->row_id);
}

/* Kernels were read first, then copies: two sorted runs are merged from their ends, which needs
 * room for the second only. */
static int sort_ops(struct rp_dag_process *p, struct rp_err *err)
{
    size_t kernels = 0, at = p->op_count, copies;
    rp_autofree struct rp_dag_op *second = NULL;

    while (kernels < p->op_count && !p->ops[kernels].is_copy)
        kernels++;
    copies = p->op_count - kernels;
    second = malloc((copies + 1) * sizeof *second);
    if (!second)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rp_dag_sort(p->ops, kernels, sizeof *p->ops, in_order);
    rp_dag_sort(p->ops + kernels, copies, sizeof *p->ops, in_order);
    if (copies)
        memcpy(second, p->ops + kernels, copies * sizeof *second);
    while (copies) {
        bool take = kernels && in_order(&p->ops[kernels - 1], &second[copies - 1]) > 0;
        p->ops[--at] = take ? p->ops[--kernels] : second[--copies];
    }
    return 0;
}

int rp_dag_join(struct rp_dag_loading *l, struct rp_err *err)
{
    struct rp_dag_process *p = &l->process;
    int rc;

    settle_streams(p);
    rc = sort_ops(p, err);
    for (size_t i = 0; rc == 0 && i < p->op_count && p->ops[i].call != RP_DAG_NONE; i++) {
        struct rp_dag_call *call = &p->calls[p->ops[i].call];
        if (!call->op_count++)
            call->first_op = (uint32_t)i;
    }
    return rc;
}
