#include "ranges.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/extdata.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "load.h"

/* --- loading -------------------------------------------------------------------------------- */

/* rocprofv3 names the call and keeps the message apart. */
bool rp_dag_is_range(const char *region_name)
{
    return strncmp(region_name, "roctx", 5) == 0;
}

bool rp_dag_add_range(struct rp_dag_loading *l, const struct rp_row_region *r, uint32_t thread)
{
    struct rp_dag_process *p = &l->process;
    char *name;

    if (r->start_ns <= 0 || r->end_ns <= r->start_ns)
        return true; /* a mark, or one that never ended */
    name = strdup(r->name);
    if (!name || !rp_dag_room(&p->ranges, p->range_count, &l->range_room, sizeof *p->ranges)) {
        free(name);
        return false;
    }
    p->ranges[p->range_count++] = (struct rp_dag_range){
        .start_ns = r->start_ns,
        .end_ns = r->end_ns,
        .event_id = r->event_id,
        .name = name,
        .thread = strncmp(r->name, "roctxProcess", 12) == 0 ? RP_DAG_NONE : thread,
    };
    return true;
}

static int by_event(const void *a, const void *b)
{
    const struct rp_dag_range *x = a, *y = b;

    return (x->event_id > y->event_id) - (x->event_id < y->event_id);
}

static int take_note(void *ctx, const void *row, struct rp_err *err)
{
    struct rp_dag_loader *l = ctx;
    const struct rp_row_note *note = row;
    struct rp_dag_loading *p = note->guid_index < l->count ? &l->list[note->guid_index] : NULL;
    const struct rp_dag_range key = {.event_id = note->event_id};
    struct rp_dag_range *range;
    json_t *object = NULL;
    const char *message;
    int rc = 0;

    if (!p || !p->process.range_count || strcmp(note->extdata, "{}") == 0)
        return 0;
    range = bsearch(&key, p->process.ranges, p->process.range_count, sizeof key, by_event);
    if (range)
        rc = rp_extdata_load(note->extdata, &object, err);
    message = json_string_value(json_object_get(object, "message"));
    if (rc == 0 && message) {
        free(range->name);
        range->name = strdup(message);
        if (!range->name)
            rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    json_decref(object);
    return rc;
}

int rp_dag_name_ranges(struct rp_dag_loader *l, struct rp_err *err)
{
    bool any = false;

    for (size_t i = 0; i < l->count; i++) {
        struct rp_dag_process *p = &l->list[i].process;
        rp_dag_sort(p->ranges, p->range_count, sizeof *p->ranges, by_event);
        any |= p->range_count > 0;
    }
    return any ? rp_store_each_note(l->store, take_note, l, err) : 0;
}

/* --- which is the innermost ------------------------------------------------------------------ */

/* From here to the next one of the same thread: NULL where no range is open. */
struct rp_dag_stretch {
    int64_t start_ns;
    const char *name;
    uint32_t process, thread;
};

/* A range opens or closes. */
struct turn {
    int64_t time_ns;
    uint32_t thread;
    uint32_t range;
    bool opens;
};

static int by_turn(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (x->opens != y->opens)
        return x->opens ? 1 : -1;
    return (x->range > y->range) - (x->range < y->range);
}

static int by_place(const void *a, const void *b)
{
    const struct rp_dag_stretch *x = a, *y = b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Ranges of a thread nest; those of the whole process need not. The last one opened is the
 * innermost. open: room for all ranges. */
static void flatten(const struct rp_dag_process *p, uint32_t process, const struct turn *turns,
                    size_t count, uint32_t *open, struct rp_dag_ranges *ret)
{
    size_t depth = 0;

    for (size_t i = 0; i < count; i++) {
        if (i && turns[i].thread != turns[i - 1].thread)
            depth = 0;
        if (turns[i].opens) {
            open[depth++] = turns[i].range;
        } else {
            size_t k = depth;
            while (k && open[k - 1] != turns[i].range)
                k--;
            if (k) {
                memmove(open + k - 1, open + k, (depth - k) * sizeof *open);
                depth--;
            }
        }
        ret->list[ret->count++] = (struct rp_dag_stretch){
            .start_ns = turns[i].time_ns,
            .name = depth ? p->ranges[open[depth - 1]].name : NULL,
            .process = process,
            .thread = turns[i].thread,
        };
    }
}

static int add_process(const struct rp_dag_process *p, uint32_t process, struct rp_dag_ranges *ret,
                       struct rp_err *err)
{
    rp_autofree struct turn *turns = malloc((2 * p->range_count + 1) * sizeof *turns);
    rp_autofree uint32_t *open = malloc((p->range_count + 1) * sizeof *open);
    struct rp_dag_stretch *grown =
        realloc(ret->list, (ret->count + 2 * p->range_count + 1) * sizeof *grown);

    if (grown)
        ret->list = grown;
    if (!turns || !open || !grown)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (uint32_t i = 0; i < p->range_count; i++) {
        const struct rp_dag_range *r = &p->ranges[i];
        turns[2 * i] = (struct turn){r->start_ns, r->thread, i, true};
        turns[2 * i + 1] = (struct turn){r->end_ns, r->thread, i, false};
    }
    qsort(turns, 2 * p->range_count, sizeof *turns, by_turn);
    flatten(p, process, turns, 2 * p->range_count, open, ret);
    return 0;
}

int rp_dag_ranges_find(const struct rp_dag_trace *trace, struct rp_dag_ranges *ret,
                       struct rp_err *err)
{
    struct rp_dag_ranges ranges = {0};
    int rc = 0;

    for (size_t i = 0; i < trace->process_count && rc == 0; i++)
        if (trace->processes[i].range_count)
            rc = add_process(&trace->processes[i], (uint32_t)i, &ranges, err);
    if (rc < 0)
        rp_dag_ranges_free(&ranges);
    else
        *ret = ranges;
    return rc;
}

void rp_dag_ranges_free(struct rp_dag_ranges *ranges)
{
    free(ranges->list);
    memset(ranges, 0, sizeof *ranges);
}

/* Turns at the same time stand in the order in which they took effect: the last one counts. */
static const char *innermost(const struct rp_dag_ranges *r, uint32_t process, uint32_t thread,
                             int64_t time_ns)
{
    const struct rp_dag_stretch key = {.start_ns = time_ns, .process = process, .thread = thread};
    size_t low = 0, high = r->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_place(&r->list[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || r->list[low - 1].process != process || r->list[low - 1].thread != thread)
        return NULL;
    return r->list[low - 1].name;
}

const char *rp_dag_range_of(const struct rp_dag_ranges *ranges, const struct rp_dag *dag,
                            const struct rp_dag_trace *trace, uint32_t e, uint32_t to,
                            int64_t start_ns, int64_t end_ns)
{
    enum rp_dag_class class = rp_dag_class_of(&dag->graph, e);
    uint32_t owner = class == RP_DAG_HOST_GAP   ? dag->owner[to]
                     : class == RP_DAG_DURATION ? dag->owner[dag->graph.from[e]]
                                                : RP_DAG_NONE;
    int64_t middle_ns = start_ns + (end_ns - start_ns) / 2;
    const char *name;
    uint32_t process;

    if (!ranges->count || !rp_dag_is_call(owner))
        return NULL;
    process = rp_dag_process_of(trace, owner);
    name = innermost(ranges, process, rp_dag_call_of(trace, owner)->thread, middle_ns);
    return name ? name : innermost(ranges, process, RP_DAG_NONE, middle_ns);
}
