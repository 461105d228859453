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

/* As the profiler's own statistics do, over all that have an end behind their start. What is too
 * long for a sum is clipped later, and taken off again, or the trace is refused. */
static void add_time(int64_t *sum_ns, int64_t start_ns, int64_t end_ns)
{
    if (end_ns > start_ns)
        *sum_ns = (int64_t)((uint64_t)*sum_ns + (uint64_t)(end_ns - start_ns));
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

static int add_op(struct rp_dag_loader *l, uint32_t guid_index, struct rp_dag_new_op new,
                  int64_t correlation_id, struct rp_err *err)
{
    struct rp_dag_loading *p = rp_dag_loading_of(l, guid_index);

    if (!p || new.op.symbol == UINT32_MAX ||
        !rp_dag_room(&p->ops, p->process.op_count, &p->op_room, sizeof new))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    new.op.end_lost = new.op.end_ns <= new.op.start_ns;
    new.op.end_ns = new.op.end_lost ? new.op.start_ns : new.op.end_ns;
    new.row.call = rp_dag_outer_call(p, correlation_id);
    p->ops[p->process.op_count++] = new;
    return 0;
}

static int take_launch(void *ctx, const void *row, struct rp_err *err)
{
    struct rp_dag_loader *l = ctx;
    const struct rp_row_launch *r = row;
    const struct rp_dag_new_op op = {
        .op.start_ns = r->start_ns,
        .op.end_ns = r->end_ns,
        .id = r->dispatch_id,
        .op.symbol = symbol_of_kernel(l, r->guid_index, r->kernel_id),
        .row.stream = small_id(r->stream_id),
        .row.queue = small_id(r->queue_id),
        .op.agent = small_id(r->agent_id),
    };

    if (!is_time(l->repairs, r->start_ns, r->end_ns))
        return 0;
    add_time(l->kernel_time_ns, r->start_ns, r->end_ns);
    return add_op(l, r->guid_index, op, r->correlation_id, err);
}

static int take_copy(void *ctx, const void *row, struct rp_err *err)
{
    struct rp_dag_loader *l = ctx;
    const struct rp_row_copy *r = row;
    const struct rp_dag_new_op op = {
        .op.start_ns = r->start_ns,
        .op.end_ns = r->end_ns,
        .id = r->id,
        .op.symbol = rp_dag_symbols_add(l->symbols, r->name),
        .row.stream = small_id(r->stream_id),
        .row.queue = -1,
        .op.agent = small_id(r->dst_agent_id > r->src_agent_id ? r->dst_agent_id : r->src_agent_id),
        .op.is_copy = true,
    };

    if (!is_time(l->repairs, r->start_ns, r->end_ns))
        return 0;
    add_time(l->copy_time_ns, r->start_ns, r->end_ns);
    return add_op(l, r->guid_index, op, r->correlation_id, err);
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

/* Of a call, the marker that is the next one. False: out of memory. */
static bool note_mark(struct rp_dag_process *p, uint32_t call)
{
    if (!p->call_marks) {
        p->call_marks = malloc(p->call_count * sizeof *p->call_marks);
        for (size_t i = 0; p->call_marks && i < p->call_count; i++)
            p->call_marks[i] = RP_DAG_NONE;
    }
    if (p->call_marks)
        p->call_marks[call] = (uint32_t)p->mark_count;
    return p->call_marks != NULL;
}

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
    if (call != RP_DAG_NONE && !note_mark(process, call))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
static void settle_streams(struct rp_dag_loading *l)
{
    int32_t queue = -1;
    bool several = false;

    for (size_t i = 0; i < l->process.op_count; i++) {
        if (l->ops[i].row.stream > 0)
            return;
        if (l->ops[i].op.is_copy)
            continue;
        several |= queue >= 0 && l->ops[i].row.queue != queue;
        queue = l->ops[i].row.queue;
    }
    for (size_t i = 0; i < l->process.op_count && several; i++)
        l->ops[i].row.stream = l->ops[i].op.is_copy ? -1 : l->ops[i].row.queue;
}

static int in_order(const void *a, const void *b)
{
    const struct rp_dag_new_op *x = a, *y = b;

    if (x->row.call != y->row.call)
        return x->row.call < y->row.call ? -1 : 1;
    if (x->op.start_ns != y->op.start_ns)
        return x->op.start_ns < y->op.start_ns ? -1 : 1;
    if (x->op.is_copy != y->op.is_copy)
        return x->op.is_copy ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Room for the ids, half of it where they are small. */
static bool ids_room(struct rp_dag_loading *l)
{
    struct rp_dag_process *p = &l->process;
    bool fit = true;

    for (size_t i = 0; i < p->op_count && fit; i++)
        fit = l->ops[i].id >= 0 && l->ops[i].id <= UINT32_MAX;
    if (fit)
        p->short_ids = malloc((p->op_count + 1) * sizeof *p->short_ids);
    else
        p->ids = malloc((p->op_count + 1) * sizeof *p->ids);
    return p->short_ids || p->ids;
}

static void put_id(struct rp_dag_process *p, size_t op, int64_t id)
{
    if (p->ids)
        p->ids[op] = id;
    else
        p->short_ids[op] = (uint32_t)id;
}

/* Kernels were read first, then copies: two sorted runs are merged to where they are needed. */
static int spread(struct rp_dag_loading *l, struct rp_err *err)
{
    struct rp_dag_process *p = &l->process;
    const struct rp_dag_new_op *copy, *end, *kernel = l->ops;
    size_t kernels = 0;

    p->ops = malloc((p->op_count + 1) * sizeof *p->ops);
    p->op_rows = malloc((p->op_count + 1) * sizeof *p->op_rows);
    if (!p->ops || !p->op_rows || !ids_room(l))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (!l->ops)
        return 0; /* there is none */
    end = l->ops + p->op_count;
    while (kernels < p->op_count && !l->ops[kernels].op.is_copy)
        kernels++;
    rp_dag_sort(l->ops, kernels, sizeof *l->ops, in_order);
    copy = l->ops + kernels;
    rp_dag_sort(l->ops + kernels, p->op_count - kernels, sizeof *l->ops, in_order);
    for (size_t i = 0; i < p->op_count; i++) {
        bool take = copy == end || (kernel < l->ops + kernels && in_order(kernel, copy) <= 0);
        const struct rp_dag_new_op *next = take ? kernel++ : copy++;
        p->ops[i] = next->op;
        p->op_rows[i] = next->row;
        put_id(p, i, next->id);
    }
    free(l->ops);
    l->ops = NULL;
    return 0;
}

int rp_dag_join(struct rp_dag_loading *l, struct rp_err *err)
{
    struct rp_dag_process *p = &l->process;
    int rc;

    settle_streams(l);
    rc = spread(l, err);
    for (size_t i = 0; rc == 0 && i < p->op_count && p->op_rows[i].call != RP_DAG_NONE; i++) {
        struct rp_dag_call *call = &p->calls[p->op_rows[i].call];
        if (call->op_count == (1u << RP_DAG_STARTED_BITS) - 1)
            return rp_fail(err, RP_BAD_INPUT, "a call of HIP starts more than %u kernels",
                           call->op_count);
        call->op_count++;
    }
    return rc;
}
