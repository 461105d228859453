#include "clips.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "late.h"
#include "rocm-perf/analysis.h"
#include "rocm-perf/dag.h"
#include "skew.h"

/* A row that a clip is of: what a row has of it. */
struct target {
    struct rp_dag_times recorded;
    int64_t dispatch_id, took_ns;
    uint32_t guid_index;
};

static int by_times(const void *a, const void *b)
{
    const struct target *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    if (x->recorded.start_ns != y->recorded.start_ns)
        return x->recorded.start_ns < y->recorded.start_ns ? -1 : 1;
    return (x->recorded.end_ns > y->recorded.end_ns) - (x->recorded.end_ns < y->recorded.end_ns);
}

struct finding {
    struct target *targets;
    size_t target_count;
    struct rp_corrected_end *ends;
    size_t end_count, room;
};

static int find_row(void *ctx, const void *row, struct rp_err *err)
{
    struct finding *f = ctx;
    const struct rp_row_dispatch *d = row;
    const struct target key = {.recorded = {d->start_ns, d->end_ns}, .guid_index = d->guid_index};
    const struct target *found = bsearch(&key, f->targets, f->target_count, sizeof key, by_times);

    if (!found)
        return 0;
    if (f->end_count == f->room) {
        size_t room = f->room ? f->room * 2 : 64;
        struct rp_corrected_end *grown = reallocarray(f->ends, room, sizeof *grown);
        if (!grown)
            return rp_out_of_memory(err);
        f->ends = grown;
        f->room = room;
    }
    f->ends[f->end_count++] = (struct rp_corrected_end){
        .id = d->id,
        .dispatch_id = found->dispatch_id,
        .recorded_ns = d->end_ns - d->start_ns,
        .took_ns = found->took_ns,
        .guid_index = d->guid_index,
    };
    return 0;
}

static int by_row(const void *a, const void *b)
{
    const struct rp_corrected_end *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Kernels of the store that are clipped. What has no end at all takes no time anyway. */
static size_t list_targets(const struct rp_dag_trace *trace, const struct rp_store *store,
                           struct target *list)
{
    size_t count = 0;

    for (size_t i = 0; i < trace->clip_count; i++) {
        const struct rp_dag_clip *clip = &trace->clips[i];
        const struct rp_dag_process *p = &trace->processes[clip->process];
        const struct rp_dag_op *op = &p->ops[clip->op];
        if (p->from.store != store || op->is_copy || op->end_lost || !op->is_wrong)
            continue;
        list[count++] = (struct target){.recorded = clip->recorded,
                                        .dispatch_id = rp_dag_row_id(p, clip->op),
                                        .took_ns = clip->took_ns,
                                        .guid_index = p->from.guid_index};
    }
    qsort(list, count, sizeof *list, by_times);
    return count;
}

static int tell(const struct rp_dag_trace *trace, struct rp_store *store, struct rp_err *err)
{
    rp_autofree struct target *targets = calloc(trace->clip_count + 1, sizeof *targets);
    struct finding f = {.targets = targets};
    int rc = 0;

    if (!targets)
        return rp_out_of_memory(err);
    f.target_count = list_targets(trace, store, targets);
    if (f.target_count)
        rc = rp_store_each_work(store, find_row, &f, err);
    if (rc < 0) {
        free(f.ends);
        return rc;
    }
    if (f.end_count)
        qsort(f.ends, f.end_count, sizeof *f.ends, by_row);
    rp_store_set_corrected_ends(store, f.ends, f.end_count);
    return 0;
}

int rp_dag_tell_clips(const struct rp_dag_trace *trace, struct rp_store *const *stores,
                      size_t count, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = tell(trace, stores[i], err);
    return rc;
}

/* --- without the graph ------------------------------------------------------------------------ */

static int find(struct rp_store *store, struct rp_err *err)
{
    struct rp_dag_trace trace = {0};
    struct rp_dag_result facts = {0};
    int rc = rp_dag_trace_load(&store, 1, NULL, &trace, err);

    if (rc == 0) {
        facts.processes = calloc(trace.process_count + 1, sizeof *facts.processes);
        rc = facts.processes ? rp_dag_clip_in_queues(&trace, err) : rp_out_of_memory(err);
    }
    if (rc == 0)
        rc = rp_dag_mend_skew(&trace, &facts, err);
    if (rc == 0)
        rc = rp_dag_count_clips(&trace, err);
    if (rc == 0)
        rc = rp_dag_tell_clips(&trace, &store, 1, err);
    free(facts.processes);
    rp_dag_trace_free(&trace);
    return rc;
}

int rp_times_settle(struct rp_store *const *stores, size_t count, struct rp_err *err)
{
    const struct rp_corrected_end *ends;
    size_t end_count;

    for (size_t i = 0; i < count; i++) {
        struct rp_err why = RP_ERR_INIT;
        int rc;

        if (rp_store_corrected_ends(stores[i], &ends, &end_count))
            continue;
        /* A model stamps no end late. */
        if (rp_store_metadata(stores[i], RP_STORE_TIMING_TAG)) {
            rp_store_set_corrected_ends(stores[i], NULL, 0);
            continue;
        }
        rc = find(stores[i], &why);
        if (rc == -(int)RP_ENVIRONMENT) {
            *err = why;
            return rc;
        }
        if (rc < 0) /* calls that cannot be read are no reason to refuse its kernels */
            rp_store_set_corrected_ends(stores[i], NULL, 0);
    }
    return 0;
}
