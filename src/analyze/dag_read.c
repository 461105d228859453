/* Reads the rows of a trace that the DAG is built from, process by process, in program order. */
#include <stdlib.h>
#include <string.h>

#include "analyze/dag_graph.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/work_progress.h"

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

/* Adds up as the profiler's own statistics do, over all that have an end behind their start. A time
 * that is too long for a sum is clipped later, and subtracted again, or the trace is refused. */
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
        return rp_out_of_memory(err);
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

static int dag_load_ops(struct rp_dag_loader *l, struct rp_err *err)
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

/* Notes the next marker of a call.
 * @return false: memory has ended */
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
        return rp_out_of_memory(err);
    if (r->end_ns <= 0) {
        l->repairs->never_ended++;
        return 0;
    }
    call = rp_dag_outer_call(p, r->correlation_id);
    if (call != RP_DAG_NONE && !note_mark(process, call))
        return rp_out_of_memory(err);
    process->marks[process->mark_count++] = (struct rp_dag_mark){
        .end_ns = r->end_ns,
        .queue = small_id(r->queue_id),
        .stream = small_id(r->stream_id),
    };
    return 0;
}

static int dag_load_marks(struct rp_dag_loader *l, struct rp_err *err)
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

/* Makes room for the ids, which takes half where they are small. */
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

/* Kernels were read first, then copies, so two sorted runs are merged. */
static int spread(struct rp_dag_loading *l, struct rp_err *err)
{
    struct rp_dag_process *p = &l->process;
    const struct rp_dag_new_op *copy, *end, *kernel = l->ops;
    size_t kernels = 0;

    p->ops = malloc((p->op_count + 1) * sizeof *p->ops);
    p->op_rows = malloc((p->op_count + 1) * sizeof *p->op_rows);
    if (!p->ops || !p->op_rows || !ids_room(l))
        return rp_out_of_memory(err);
    if (!l->ops)
        return 0;
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

/** Joins operations and markers to the calls that made them, and sorts the operations. */
static int dag_join(struct rp_dag_loading *l, struct rp_err *err)
{
    struct rp_dag_process *p = &l->process;
    int rc;

    settle_streams(l);
    rc = rp_dag_order_calls(l, err);
    if (rc == 0)
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

enum {
    MOST_WAITS =
        64, /**< of one operation that are compared; more are added as edges of their own */
    DEEPEST_WAITS = 3, /**< a dependency that others imply: by way of so many operations */
    DEEPEST_MARKS = 6, /**< markers between two operations */
    /* So many rows are looked at for one operation; real ones need some hundreds. With this limit
     * the work grows with the rows of a table only, and an edge that is not found by then stays
     * derived. */
    MOST_STEPS = 4096,
};

/* --- reading ------------------------------------------------------------------------------- */

/** Names two operations: one waited for the other. */
struct pair {
    int64_t op, before; /**< row_id * 2, and 1 for a copy */
};

struct pairs {
    struct pair *list;
    size_t count, room;
};

struct recorded_reading {
    struct rp_dag_loader *loader;
    struct pairs *processes; /**< by guid_index */
    size_t count;
};

struct named {
    int64_t name;
    uint32_t op;
};

static int64_t name_of(int64_t row_id, bool is_copy)
{
    return (int64_t)((uint64_t)row_id * 2 + is_copy);
}

static int take_row(void *ctx, const void *row, struct rp_err *err)
{
    struct recorded_reading *r = ctx;
    const struct rp_row_dependency *d = row;
    struct pairs *pairs;

    if (d->guid_index >= r->count) /* The process has no other row. */
        return 0;
    pairs = &r->processes[d->guid_index];
    if (!rp_dag_room(&pairs->list, pairs->count, &pairs->room, sizeof *pairs->list))
        return rp_out_of_memory(err);
    pairs->list[pairs->count++] = (struct pair){
        .op = name_of(d->row_id, d->is_copy != 0),
        .before = name_of(d->waits_for_id, d->waits_for_copy != 0),
    };
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;

    return (x->name > y->name) - (x->name < y->name);
}

static uint32_t find(const struct named *names, size_t count, int64_t name)
{
    const struct named key = {.name = name};
    const struct named *found = bsearch(&key, names, count, sizeof key, by_name);

    return found ? found->op : RP_DAG_NONE;
}

/* Replaces the names in the pairs by operations. Pairs of operations that were left out are
 * dropped. */
static size_t find_ops(const struct rp_dag_process *p, struct pairs *pairs,
                       const struct named *names)
{
    size_t kept = 0;

    for (size_t i = 0; i < pairs->count; i++) {
        uint32_t op = find(names, p->op_count, pairs->list[i].op);
        uint32_t before = find(names, p->op_count, pairs->list[i].before);
        if (op != RP_DAG_NONE && before != RP_DAG_NONE && op != before)
            pairs->list[kept++] = (struct pair){op, before};
    }
    return kept;
}

static int by_op(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    return (x->before > y->before) - (x->before < y->before);
}

/* A table may repeat itself, so each pair is kept once. */
static void drop_doubles(struct pairs *pairs)
{
    size_t kept = 0;

    for (size_t i = 0; i < pairs->count; i++)
        if (!kept || by_op(&pairs->list[kept - 1], &pairs->list[i]) != 0)
            pairs->list[kept++] = pairs->list[i];
    pairs->count = kept;
}

static int settle(struct rp_dag_process *p, struct pairs *pairs, struct rp_err *err)
{
    rp_autofree struct named *names = malloc((p->op_count + 1) * sizeof *names);

    if (!names)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < p->op_count; i++)
        names[i] = (struct named){name_of(rp_dag_row_id(p, i), p->ops[i].is_copy), (uint32_t)i};
    rp_dag_sort(names, p->op_count, sizeof *names, by_name);
    pairs->count = find_ops(p, pairs, names);
    rp_dag_sort(pairs->list, pairs->count, sizeof *pairs->list, by_op);
    drop_doubles(pairs);
    p->first_wait = calloc(p->op_count + 1, sizeof *p->first_wait);
    p->waits = malloc((pairs->count + 1) * sizeof *p->waits);
    if (!p->first_wait || !p->waits || pairs->count >= RP_DAG_NONE)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < pairs->count; i++) {
        p->first_wait[pairs->list[i].op + 1]++;
        p->waits[i] = (uint32_t)pairs->list[i].before;
    }
    for (size_t i = 0; i < p->op_count; i++)
        p->first_wait[i + 1] += p->first_wait[i];
    return 0;
}

/** Reads the table, if there is one. The operations have been joined and sorted. */
static int dag_load_recorded(struct rp_dag_loader *l, struct rp_err *err)
{
    struct recorded_reading r = {.loader = l, .count = l->count};
    int rc;

    r.processes = calloc(l->count + 1, sizeof *r.processes);
    if (!r.processes)
        return rp_out_of_memory(err);
    rc = rp_store_each_dependency(l->store, take_row, &r, err);
    for (size_t i = 0; i < r.count && rc == 0; i++)
        if (r.processes[i].count)
            rc = settle(&l->list[i].process, &r.processes[i], err);
    for (size_t i = 0; i < r.count; i++)
        free(r.processes[i].list);
    free(r.processes);
    return rc;
}

/** Returns the operations that an operation waited for. */
static const uint32_t *dag_recorded_waits(const struct rp_dag_process *p, uint32_t op,
                                          uint32_t *ret_count)
{
    *ret_count = p->first_wait ? p->first_wait[op + 1] - p->first_wait[op] : 0;
    return *ret_count ? p->waits + p->first_wait[op] : NULL;
}

/* --- edges --------------------------------------------------------------------------------- */

/** Holds the waits of the operation that its edges account for. */
struct found {
    const uint32_t *waits;
    uint32_t count;
    uint64_t seen;  /**< bit per wait */
    uint32_t steps; /**< steps that are left */
};

/* Says whether one operation waited for the other by the record, perhaps by way of others. */
static bool waited(const struct rp_dag_process *p, struct found *f, uint32_t op, uint32_t before,
                   int depth)
{
    uint32_t count;
    const uint32_t *waits = dag_recorded_waits(p, op, &count);

    for (uint32_t i = 0; i < count && f->steps; i++, f->steps--)
        if (waits[i] == before)
            return true;
    for (uint32_t i = 0; i < count && depth > 1 && f->steps; i++)
        if (waited(p, f, waits[i], before, depth - 1))
            return true;
    return false;
}

static void mark_seen(struct found *f, uint32_t op)
{
    for (uint32_t i = 0; i < f->count; i++)
        if (f->waits[i] == op)
            f->seen |= (uint64_t)1 << i;
}

/* Returns the operation that ends at a point, or RP_DAG_NONE for a marker, a call, or another
 * process. */
static uint32_t op_at(const struct rp_dag_recorded_op *r, uint32_t point)
{
    uint32_t owner = r->dag->owner[point];
    uint32_t index = (owner & ~(uint32_t)RP_DAG_OP_BIT) - r->process->op_base;

    return rp_dag_is_op(owner) && index < r->process->op_count && rp_dag_is_end(r->dag, point)
               ? index
               : RP_DAG_NONE;
}

static bool orders_packets(enum rp_dag_class class)
{
    return class == RP_DAG_STREAM || class == RP_DAG_QUEUE || class == RP_DAG_EVENT ||
           class == RP_DAG_NULL_STREAM;
}

/* Says whether the operation at the point, or behind the marker there, was waited for according to
 * the record. Then the edges in between are recorded, too. */
static bool confirm(const struct rp_dag_recorded_op *r, struct found *f, uint32_t point, int depth)
{
    struct rp_dag_graph *g = &r->dag->graph;
    uint32_t op = op_at(r, point);
    bool any = false;

    if (op != RP_DAG_NONE) {
        mark_seen(f, op);
        return waited(r->process, f, r->op, op, DEEPEST_WAITS);
    }
    if (r->dag->owner[point] != RP_DAG_NONE || depth == 0)
        return false;
    for (uint32_t e = rp_dag_first(g, point); e < rp_dag_first(g, point + 1) && f->steps; e++) {
        f->steps--;
        if (!orders_packets(rp_dag_class_of(g, e)) || !confirm(r, f, g->from[e], depth - 1))
            continue;
        rp_dag_set_kind(g, e, rp_dag_class_of(g, e), RP_DAG_RECORDED);
        any = true;
    }
    return any;
}

static enum rp_dag_class class_of(const struct rp_dag_op_row *op,
                                  const struct rp_dag_op_row *before)
{
    if (op->stream >= 0 && op->stream == before->stream)
        return RP_DAG_STREAM;
    if (op->queue >= 0 && op->queue == before->queue)
        return RP_DAG_QUEUE;
    return op->stream == 0 || before->stream == 0 ? RP_DAG_NULL_STREAM : RP_DAG_EVENT;
}

void rp_dag_recorded_edges(const struct rp_dag_recorded_op *r)
{
    struct rp_dag_graph *g = &r->dag->graph;
    struct found f = {.steps = MOST_STEPS};
    uint32_t count;
    const uint32_t *waits = dag_recorded_waits(r->process, r->op, &count);

    f.waits = waits;
    f.count = count < MOST_WAITS ? count : MOST_WAITS;
    for (size_t e = rp_dag_first(g, g->point_count); e < g->edge_count && count; e++)
        if (orders_packets(rp_dag_class_of(g, e)) && confirm(r, &f, g->from[e], DEEPEST_MARKS))
            rp_dag_set_kind(g, e, rp_dag_class_of(g, e), RP_DAG_RECORDED);
    for (uint32_t i = 0; i < count && !g->failed; i++) {
        uint32_t from = r->finish[waits[i]];
        if (from == RP_DAG_NONE || (i < MOST_WAITS && (f.seen >> i & 1)))
            continue;
        rp_dag_edge(g, from, class_of(&r->process->op_rows[r->op], &r->process->op_rows[waits[i]]),
                    RP_DAG_RECORDED);
    }
}

/* --- one store ------------------------------------------------------------------------------ */

static void free_process(struct rp_dag_process *p)
{
    free(p->calls);
    free(p->call_rows);
    free(p->call_marks);
    rp_idmap_free(&p->handles);
    free(p->ops);
    free(p->op_rows);
    free(p->short_ids);
    free(p->ids);
    free(p->marks);
    free(p->recorded);
    free(p->first_wait);
    free(p->waits);
    for (size_t i = 0; i < p->range_count; i++)
        free(p->ranges[i].name);
    free(p->ranges);
}

static void free_scratch(struct rp_dag_loading *p)
{
    free(p->calls);
    free(p->ops);
    free(p->orders);
    free(p->inners);
    rp_idmap_free(&p->threads);
    free(p->events);
    free(p->by_event);
}

static int count_queues(struct rp_dag_loader *l, struct rp_err *err)
{
    const struct rp_row_queue *rows;
    size_t count;
    int rc = rp_store_queues(l->store, &rows, &count, err);

    for (size_t i = 0; rc == 0 && i < count; i++) {
        struct rp_dag_loading *p = rp_dag_loading_of(l, rows[i].guid_index);
        if (!p)
            return rp_out_of_memory(err);
        p->process.queue_count += rows[i].id > 0;
    }
    return rc;
}

static int load(struct rp_dag_loader *l, struct rp_err *err)
{
    int rc = rp_dag_load_calls(l, err);

    if (rc == 0)
        rc = rp_dag_load_args(l, err);
    for (size_t i = 0; i < l->count && rc == 0; i++)
        if (!rp_dag_merge_polls(&l->list[i]))
            rc = rp_out_of_memory(err);
    if (rc == 0)
        rc = dag_load_ops(l, err);
    if (rc == 0)
        rc = dag_load_marks(l, err);
    if (rc == 0)
        rc = count_queues(l, err);
    /* Every process that the store knows has its place, even without rows. */
    for (uint32_t g = 0; rc == 0 && g < rp_store_guid_count(l->store); g++) {
        struct rp_dag_loading *p = rp_dag_loading_of(l, g);
        rc = p ? dag_join(p, err) : rp_out_of_memory(err);
        if (rc == 0) {
            p->process.guid = rp_store_guid(l->store, g);
            p->process.from = (struct rp_dag_source){l->store, g};
        }
    }
    return rc < 0 ? rc : dag_load_recorded(l, err);
}

/* Holds names while the stores are read. */
struct naming {
    struct rp_dag_symbols symbols, calls;
};

static int load_store(struct rp_store *store, struct rp_dag_trace *trace, struct naming *naming,
                      struct rp_err *err)
{
    struct rp_dag_loader l = {.store = store,
                              .repairs = &trace->repairs,
                              .kernel_time_ns = &trace->kernel_time_ns,
                              .copy_time_ns = &trace->copy_time_ns,
                              .symbols = &naming->symbols,
                              .call_names = &naming->calls};
    struct rp_dag_process *grown = NULL;
    int rc = load(&l, err);

    rp_store_forget_events(store);
    if (rc == 0)
        grown = realloc(trace->processes, (trace->process_count + l.count + 1) * sizeof *grown);
    if (rc == 0 && !grown)
        rc = rp_out_of_memory(err);
    if (grown)
        trace->processes = grown;
    for (size_t i = 0; i < l.count; i++) {
        free_scratch(&l.list[i]);
        if (rc == 0)
            trace->processes[trace->process_count++] = l.list[i].process;
        else
            free_process(&l.list[i].process);
    }
    free(l.list);
    return rc;
}

/* --- the whole ------------------------------------------------------------------------------ */

/* Symbols get their numbers in the order of their names. */
static int settle_symbols(struct rp_dag_trace *trace, struct naming *naming, struct rp_err *err)
{
    struct rp_dag_symbols *symbols = &naming->symbols;
    rp_autofree uint32_t *numbers = rp_dag_symbols_sort(symbols);
    rp_autofree bool *collective = malloc((symbols->count + 1) * sizeof *collective);

    if (!numbers || !collective)
        return rp_out_of_memory(err);
    for (size_t k = 0; k < symbols->count; k++)
        collective[k] = rp_dag_is_collective(symbols->names[k]);
    for (size_t i = 0; i < trace->process_count; i++) {
        struct rp_dag_process *p = &trace->processes[i];
        for (size_t k = 0; k < p->op_count; k++) {
            p->ops[k].symbol = numbers[p->ops[k].symbol];
            p->ops[k].is_collective = collective[p->ops[k].symbol];
        }
    }
    trace->symbols = symbols->names;
    trace->symbol_count = symbols->count;
    symbols->names = NULL;
    trace->call_names = naming->calls.names;
    trace->call_name_count = naming->calls.count;
    naming->calls.names = NULL;
    return 0;
}

/* Stores are read one after the other. */
struct reading {
    const struct rp_work *work;
    size_t done, most;
};

static void at_share(void *ctx, enum rp_work_step step, double share)
{
    const struct reading *r = ctx;

    rp_work_at(r->work, step, ((double)r->done + share) / (double)r->most);
}

int rp_dag_trace_load(struct rp_store *const *stores, size_t store_count,
                      const struct rp_work *work, struct rp_dag_trace *ret, struct rp_err *err)
{
    struct rp_dag_trace trace = {0};
    struct naming naming = {0};
    int rc = rp_dag_symbols_add(&naming.symbols, "unknown kernel") == UINT32_MAX
                 ? rp_out_of_memory(err)
                 : 0;

    for (size_t s = 0; s < store_count && rc == 0; s++) {
        struct reading reading = {work, s, store_count};
        const struct rp_work of_store = {at_share, &reading};

        rp_store_watch(stores[s], &of_store);
        rc = load_store(stores[s], &trace, &naming, err);
        rp_store_watch(stores[s], NULL);
    }
    if (rc == 0)
        rc = settle_symbols(&trace, &naming, err);
    if (rc == 0)
        rc = rp_dag_limit_times(&trace, err);
    rp_dag_symbols_free(&naming.symbols);
    rp_dag_symbols_free(&naming.calls);
    if (rc < 0)
        rp_dag_trace_free(&trace);
    else
        *ret = trace;
    return rc;
}

void rp_dag_trace_free_rows(struct rp_dag_trace *trace)
{
    for (size_t i = 0; i < trace->process_count; i++) {
        struct rp_dag_process *p = &trace->processes[i];
        free(p->call_rows);
        free(p->call_marks);
        free(p->op_rows);
        p->call_rows = NULL;
        p->call_marks = NULL;
        p->op_rows = NULL;
    }
}

void rp_dag_trace_free(struct rp_dag_trace *trace)
{
    for (size_t i = 0; i < trace->process_count; i++)
        free_process(&trace->processes[i]);
    free(trace->processes);
    free(trace->clips);
    free(trace->symbols);
    free(trace->call_names);
    memset(trace, 0, sizeof *trace);
}
