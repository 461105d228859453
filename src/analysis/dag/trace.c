#include "trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

/* --- names --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum rp_dag_call_kind kind;
} known_calls[] = {
#define RP_DAG_CALL(n, k) {#n, RP_DAG_CALL_##k},
#include "calls.def"
#undef RP_DAG_CALL
};

static enum rp_dag_call_kind kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof known_calls / sizeof known_calls[0]; i++)
        if (strcmp(known_calls[i].name, name) == 0)
            return known_calls[i].kind;
    return RP_DAG_CALL_OTHER;
}

/* Calls of the program to HIP: not the compiler's registration calls, HSA below, or ranges. */
static bool is_hip_call(const char *name)
{
    return strncmp(name, "hip", 3) == 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* qsort, but a trace is usually in order already. */
static void sort(void *rows, size_t count, size_t bytes, int (*order)(const void *, const void *))
{
    const char *p = rows;
    size_t i = 1;

    while (i < count && order(p + (i - 1) * bytes, p + i * bytes) <= 0)
        i++;
    if (i < count)
        qsort(rows, count, bytes, order);
}

static uint32_t symbol_of(const struct rp_dag_trace *trace, const char *name)
{
    const char **found =
        bsearch(&name, trace->symbols, trace->symbol_count, sizeof *trace->symbols, by_text);

    return found ? (uint32_t)(found - trace->symbols) : 0;
}

/* --- calls --------------------------------------------------------------------------------- */

static int by_thread_and_time(const void *a, const void *b)
{
    const struct rp_dag_call *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns); /* the outer one first */
}

static int by_order(const void *a, const void *b)
{
    const struct rp_dag_call *x = a, *y = b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* What a call that is none of ours belongs to: HSA below HIP, HIP called by HIP. */
struct inner {
    int64_t order, outer;
};

struct inners {
    struct inner *list;
    size_t count;
};

static int by_inner(const void *a, const void *b)
{
    const struct inner *x = a, *y = b;

    return (x->order > y->order) - (x->order < y->order);
}

/* A call made by another call is part of it; what it started belongs to the outer one. */
static void drop_nested(struct rp_dag_process *p, struct inners *inners)
{
    size_t kept = 0;

    sort(p->calls, p->call_count, sizeof *p->calls, by_thread_and_time);
    for (size_t i = 0; i < p->call_count; i++) {
        const struct rp_dag_call *outer = kept ? &p->calls[kept - 1] : NULL;
        bool nested = outer && outer->thread == p->calls[i].thread &&
                      p->calls[i].start_ns < outer->end_ns && p->calls[i].end_ns <= outer->end_ns;
        if (nested)
            inners->list[inners->count++] = (struct inner){p->calls[i].order, outer->order};
        else
            p->calls[kept++] = p->calls[i];
    }
    p->call_count = kept;
}

static int by_id(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Thread ids of the trace become 0, 1, 2 ... in the order of the ids. */
static int64_t *thread_ids(const struct rp_row_region *rows, size_t count, uint32_t guid,
                           uint32_t *ret_count)
{
    size_t n = 0, kept = 0;
    int64_t *ids = malloc((count + 1) * sizeof *ids);

    if (!ids)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (rows[i].guid_index == guid && (!n || ids[n - 1] != rows[i].tid))
            ids[n++] = rows[i].tid;
    sort(ids, n, sizeof *ids, by_id);
    for (size_t i = 0; i < n; i++)
        if (!kept || ids[kept - 1] != ids[i])
            ids[kept++] = ids[i];
    *ret_count = (uint32_t)kept;
    return ids;
}

static uint32_t index_of(const int64_t *ids, uint32_t count, int64_t id)
{
    const int64_t *found = bsearch(&id, ids, count, sizeof *ids, by_id);

    return (uint32_t)(found - ids); /* every row's thread is among them */
}

static int load_calls(struct rp_dag_trace *trace, struct rp_dag_process *p,
                      const struct rp_dag_source *from, struct inners *inners, int64_t **ret_events,
                      struct rp_err *err)
{
    const struct rp_row_region *rows;
    size_t count;
    rp_autofree int64_t *threads = NULL;
    int rc = rp_store_regions(from->store, &rows, &count, err);

    if (rc < 0)
        return rc;
    p->calls = calloc(count + 1, sizeof *p->calls);
    threads = thread_ids(rows, count, from->guid_index, &p->thread_count);
    inners->list = malloc((count + 1) * sizeof *inners->list);
    if (!p->calls || !threads || !inners->list)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const struct rp_row_region *r = &rows[i];
        if (r->guid_index != from->guid_index)
            continue;
        if (!is_hip_call(r->name)) {
            inners->list[inners->count++] = (struct inner){r->correlation_id, r->parent_id};
            continue;
        }
        if (r->start_ns <= 0) {
            trace->repairs.never_ended++;
            continue;
        }
        p->calls[p->call_count++] = (struct rp_dag_call){
            .start_ns = r->start_ns,
            .end_ns = r->end_ns > r->start_ns ? r->end_ns : r->start_ns,
            .order = r->correlation_id,
            .name = r->name,
            .thread = index_of(threads, p->thread_count, r->tid),
            .first_op = (uint32_t)i, /* the row, until its arguments are read */
            .mark = RP_DAG_NONE,
            .kind = (uint8_t)kind_of(r->name),
        };
    }
    drop_nested(p, inners);
    qsort(inners->list, inners->count, sizeof *inners->list, by_inner);
    sort(p->calls, p->call_count, sizeof *p->calls, by_order);
    *ret_events = malloc((p->call_count + 1) * sizeof **ret_events);
    if (!*ret_events)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < p->call_count; i++) {
        (*ret_events)[i] = rows[p->calls[i].first_op].event_id;
        p->calls[i].first_op = 0;
    }
    return 0;
}

/* --- arguments ------------------------------------------------------------------------------ */

struct event_call {
    int64_t event_id;
    uint32_t call;
};

static int by_event(const void *a, const void *b)
{
    const struct event_call *x = a, *y = b;

    return (x->event_id > y->event_id) - (x->event_id < y->event_id);
}

static void take_arg(struct rp_dag_call *call, const struct rp_row_arg *arg)
{
    /* "(nil)" is 0, too. */
    if (strcmp(arg->name, "stream") == 0 || strcmp(arg->name, "hStream") == 0) {
        call->stream = strtoull(arg->value, NULL, 0);
        call->has_stream = true;
    } else if (strcmp(arg->name, "event") == 0) {
        call->event = strtoull(arg->value, NULL, 0);
        call->has_event = true;
    } else if (strcmp(arg->name, "flags") == 0)
        call->flags = strtoll(arg->value, NULL, 0);
}

static int load_args(struct rp_dag_process *p, const struct rp_dag_source *from,
                     const int64_t *events, struct rp_err *err)
{
    const struct rp_row_arg *args;
    size_t count;
    rp_autofree struct event_call *order = malloc((p->call_count + 1) * sizeof *order);
    int rc = rp_store_args(from->store, &args, &count, err);

    if (rc < 0)
        return rc;
    if (!order)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < p->call_count; i++)
        order[i] = (struct event_call){events[i], (uint32_t)i};
    sort(order, p->call_count, sizeof *order, by_event);
    for (size_t i = 0; i < count; i++) {
        const struct event_call key = {args[i].event_id, 0};
        const struct event_call *found;
        if (args[i].guid_index != from->guid_index)
            continue;
        found = bsearch(&key, order, p->call_count, sizeof *order, by_event);
        if (!found)
            continue;
        p->has_args = true;
        take_arg(&p->calls[found->call], &args[i]);
    }
    return 0;
}

/* --- operations ----------------------------------------------------------------------------- */

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

static const char *kernel_name(const struct rp_store *store, const struct rp_row_dispatch *row)
{
    const struct rp_row_kernel *kernel =
        rp_store_find_kernel(store, row->guid_index, row->kernel_id);

    return !kernel                 ? "unknown kernel"
           : *kernel->display_name ? kernel->display_name
                                   : kernel->kernel_name;
}

static int load_ops(struct rp_dag_trace *trace, struct rp_dag_process *p,
                    const struct rp_dag_source *from, struct rp_err *err)
{
    const struct rp_row_dispatch *kernels;
    const struct rp_row_copy *copies;
    size_t kernel_count, copy_count;
    int rc = rp_store_dispatches(from->store, &kernels, &kernel_count, err);

    if (rc == 0)
        rc = rp_store_copies(from->store, &copies, &copy_count, err);
    if (rc < 0)
        return rc;
    p->ops = malloc((kernel_count + copy_count + 1) * sizeof *p->ops);
    if (!p->ops)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < kernel_count; i++) {
        const struct rp_row_dispatch *r = &kernels[i];
        if (r->guid_index != from->guid_index || !is_time(&trace->repairs, r->start_ns, r->end_ns))
            continue;
        p->ops[p->op_count++] = (struct rp_dag_op){
            .start_ns = r->start_ns,
            .end_ns = r->end_ns > r->start_ns ? r->end_ns : r->start_ns,
            .row_id = r->dispatch_id,
            .correlation_id = r->correlation_id,
            .call = RP_DAG_NONE,
            .symbol = symbol_of(trace, kernel_name(from->store, r)),
            .stream = small_id(r->stream_id),
            .queue = small_id(r->queue_id),
            .agent = small_id(r->agent_id),
        };
    }
    for (size_t i = 0; i < copy_count; i++) {
        const struct rp_row_copy *r = &copies[i];
        if (r->guid_index != from->guid_index || !is_time(&trace->repairs, r->start_ns, r->end_ns))
            continue;
        p->ops[p->op_count++] = (struct rp_dag_op){
            .start_ns = r->start_ns,
            .end_ns = r->end_ns > r->start_ns ? r->end_ns : r->start_ns,
            .row_id = r->id,
            .correlation_id = r->correlation_id,
            .call = RP_DAG_NONE,
            .symbol = symbol_of(trace, r->name),
            .stream = small_id(r->stream_id),
            .queue = -1,
            .agent =
                small_id(r->dst_agent_id > r->src_agent_id ? r->dst_agent_id : r->src_agent_id),
            .is_copy = true,
        };
    }
    return 0;
}

static int op_in_order(const void *a, const void *b)
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

static uint32_t call_with(const struct rp_dag_process *p, int64_t correlation_id)
{
    size_t low = 0, high = p->call_count;

    while (low < high && correlation_id) {
        size_t middle = low + (high - low) / 2;
        if (p->calls[middle].order == correlation_id)
            return (uint32_t)middle;
        if (p->calls[middle].order < correlation_id)
            low = middle + 1;
        else
            high = middle;
    }
    return RP_DAG_NONE;
}

/* The call that something belongs to, perhaps through calls below it. */
static uint32_t outer_call(const struct rp_dag_process *p, const struct inners *inners,
                           int64_t correlation_id)
{
    enum { DEEPEST = 16 };

    for (int depth = 0; depth < DEEPEST && correlation_id; depth++) {
        const struct inner key = {.order = correlation_id}, *found;
        uint32_t call = call_with(p, correlation_id);
        if (call != RP_DAG_NONE)
            return call;
        found = bsearch(&key, inners->list, inners->count, sizeof key, by_inner);
        correlation_id = found ? found->outer : 0;
    }
    return RP_DAG_NONE;
}

/* Joins operations and markers to the calls that made them. */
static void join(struct rp_dag_process *p, const struct inners *inners)
{
    for (size_t i = 0; i < p->op_count; i++)
        p->ops[i].call = outer_call(p, inners, p->ops[i].correlation_id);
    sort(p->ops, p->op_count, sizeof *p->ops, op_in_order);
    for (size_t i = 0; i < p->op_count && p->ops[i].call != RP_DAG_NONE; i++) {
        struct rp_dag_call *call = &p->calls[p->ops[i].call];
        if (!call->op_count++)
            call->first_op = (uint32_t)i;
    }
    for (size_t i = 0; i < p->mark_count; i++) {
        uint32_t call = outer_call(p, inners, p->marks[i].correlation_id);
        if (call != RP_DAG_NONE)
            p->calls[call].mark = (uint32_t)i;
    }
}

static int load_marks(struct rp_dag_trace *trace, struct rp_dag_process *p,
                      const struct rp_dag_source *from, struct rp_err *err)
{
    const struct rp_row_hip_event *rows;
    size_t count;
    int rc = rp_store_hip_events(from->store, &rows, &count, err);

    if (rc < 0)
        return rc;
    p->marks = malloc((count + 1) * sizeof *p->marks);
    if (!p->marks)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i++) {
        if (rows[i].guid_index != from->guid_index)
            continue;
        if (rows[i].end_ns <= 0) {
            trace->repairs.never_ended++;
            continue;
        }
        p->marks[p->mark_count++] = (struct rp_dag_mark){
            .end_ns = rows[i].end_ns,
            .correlation_id = rows[i].correlation_id,
            .queue = small_id(rows[i].queue_id),
            .stream = small_id(rows[i].stream_id),
        };
    }
    return 0;
}

static int count_queues(struct rp_dag_process *p, const struct rp_dag_source *from,
                        struct rp_err *err)
{
    const struct rp_row_queue *rows;
    size_t count;
    int rc = rp_store_queues(from->store, &rows, &count, err);

    for (size_t i = 0; rc == 0 && i < count; i++)
        p->queue_count += rows[i].guid_index == from->guid_index && rows[i].id > 0;
    return rc;
}

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

/* --- the whole ------------------------------------------------------------------------------ */

static int load_process(struct rp_dag_trace *trace, struct rp_dag_process *p,
                        const struct rp_dag_source *from, struct rp_err *err)
{
    rp_autofree int64_t *events = NULL;
    struct inners inners = {0};
    int rc;

    p->guid = rp_store_guid(from->store, from->guid_index);
    p->from = *from;
    rc = load_calls(trace, p, from, &inners, &events, err);
    if (rc == 0)
        rc = load_args(p, from, events, err);
    if (rc == 0)
        rc = load_ops(trace, p, from, err);
    if (rc == 0)
        rc = load_marks(trace, p, from, err);
    if (rc == 0)
        rc = count_queues(p, from, err);
    settle_streams(p);
    if (rc == 0)
        join(p, &inners);
    free(inners.list);
    return rc;
}

/* Names of all kernels and copies of the stores. */
static int load_symbols(struct rp_dag_trace *trace, struct rp_store *const *stores, size_t count,
                        struct rp_err *err)
{
    size_t n = 1, kept = 0;

    for (size_t pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            trace->symbols = malloc(n * sizeof *trace->symbols);
            if (!trace->symbols)
                return rp_fail(err, RP_ENVIRONMENT, "out of memory");
            trace->symbols[0] = "unknown kernel";
            n = 1;
        }
        for (size_t s = 0; s < count; s++) {
            const struct rp_row_kernel *kernels;
            const struct rp_row_copy *copies;
            size_t kernel_count, copy_count;
            int rc = rp_store_kernels(stores[s], &kernels, &kernel_count, err);
            if (rc == 0)
                rc = rp_store_copies(stores[s], &copies, &copy_count, err);
            if (rc < 0)
                return rc;
            for (size_t i = 0; i < kernel_count; i++, n++)
                if (pass == 1)
                    trace->symbols[n] =
                        *kernels[i].display_name ? kernels[i].display_name : kernels[i].kernel_name;
            for (size_t i = 0; i < copy_count; i++, n++)
                if (pass == 1)
                    trace->symbols[n] = copies[i].name;
        }
    }
    qsort(trace->symbols, n, sizeof *trace->symbols, by_text);
    for (size_t i = 0; i < n; i++)
        if (!kept || strcmp(trace->symbols[kept - 1], trace->symbols[i]) != 0)
            trace->symbols[kept++] = trace->symbols[i];
    trace->symbol_count = kept;
    return 0;
}

int rp_dag_trace_load(struct rp_store *const *stores, size_t store_count, struct rp_dag_trace *ret,
                      struct rp_err *err)
{
    struct rp_dag_trace trace = {0};
    size_t room = 0;
    int rc = load_symbols(&trace, stores, store_count, err);

    for (size_t s = 0; s < store_count; s++)
        room += rp_store_guid_count(stores[s]);
    trace.processes = calloc(room + 1, sizeof *trace.processes);
    if (rc == 0 && !trace.processes)
        rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t s = 0; s < store_count && rc == 0; s++)
        for (uint32_t g = 0; g < rp_store_guid_count(stores[s]) && rc == 0; g++) {
            const struct rp_dag_source from = {stores[s], g};
            rc = load_process(&trace, &trace.processes[trace.process_count++], &from, err);
        }
    if (rc < 0)
        rp_dag_trace_free(&trace);
    else
        *ret = trace;
    return rc;
}

void rp_dag_trace_free(struct rp_dag_trace *trace)
{
    for (size_t i = 0; i < trace->process_count; i++) {
        free(trace->processes[i].calls);
        free(trace->processes[i].ops);
        free(trace->processes[i].marks);
    }
    free(trace->processes);
    free(trace->symbols);
    memset(trace, 0, sizeof *trace);
}
