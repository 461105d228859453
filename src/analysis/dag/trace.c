#include "trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/work_progress.h"
#include "build.h"
#include "clocks.h"
#include "load.h"
#include "recorded.h"

void rp_dag_sort(void *rows, size_t count, size_t bytes, int (*order)(const void *, const void *))
{
    const char *p = rows;
    size_t i = 1;

    while (i < count && order(p + (i - 1) * bytes, p + i * bytes) <= 0)
        i++;
    if (i < count)
        qsort(rows, count, bytes, order);
}

bool rp_dag_room(void *array, size_t count, size_t *room, size_t element_bytes)
{
    void **slot = array;
    size_t wanted = *room ? *room * 2 : 1024;
    void *grown;

    if (count < *room)
        return true;
    grown = realloc(*slot, wanted * element_bytes);
    if (!grown)
        return false;
    *slot = grown;
    *room = wanted;
    return true;
}

struct rp_dag_loading *rp_dag_loading_of(struct rp_dag_loader *l, uint32_t guid_index)
{
    if (guid_index >= l->count) {
        struct rp_dag_loading *grown = realloc(l->list, ((size_t)guid_index + 1) * sizeof *l->list);
        if (!grown)
            return NULL;
        l->list = grown;
        memset(l->list + l->count, 0, ((size_t)guid_index + 1 - l->count) * sizeof *l->list);
        l->count = (size_t)guid_index + 1;
    }
    return &l->list[guid_index];
}

/* --- one store ------------------------------------------------------------------------------ */

static void free_process(struct rp_dag_process *p)
{
    free(p->calls);
    free(p->call_rows);
    free(p->call_marks);
    rp_numbering_free(&p->handles);
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
    rp_numbering_free(&p->threads);
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
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
            rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rc == 0)
        rc = rp_dag_load_ops(l, err);
    if (rc == 0)
        rc = rp_dag_load_marks(l, err);
    if (rc == 0)
        rc = count_queues(l, err);
    /* Every process that the store knows has its place, even with nothing in it. */
    for (uint32_t g = 0; rc == 0 && g < rp_store_guid_count(l->store); g++) {
        struct rp_dag_loading *p = rp_dag_loading_of(l, g);
        rc = p ? rp_dag_join(p, err) : rp_fail(err, RP_ENVIRONMENT, "out of memory");
        if (rc == 0) {
            p->process.guid = rp_store_guid(l->store, g);
            p->process.from = (struct rp_dag_source){l->store, g};
        }
    }
    return rc < 0 ? rc : rp_dag_load_recorded(l, err);
}

/* Names while the stores are read. */
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
        rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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

/* Of one store after the other. */
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
                 ? rp_fail(err, RP_ENVIRONMENT, "out of memory")
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

int rp_dag_keep_recorded(struct rp_dag_process *p, struct rp_err *err)
{
    if (p->recorded)
        return 0;
    p->recorded = malloc((p->op_count + 1) * sizeof *p->recorded);
    if (!p->recorded)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < p->op_count; i++)
        p->recorded[i] = (struct rp_dag_times){p->ops[i].start_ns, p->ops[i].end_ns};
    return 0;
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
