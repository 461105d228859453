#include "rocm-perf/timeline.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "rocm-perf/dag.h"
#include "trace/rocpd.h"

/* The graph forgets queues and streams while it is built, because of traces with tens of millions
 * of operations; a page shows fewer, and asks the stores again. */

struct place {
    struct rp_timeline_lane lane;
    int64_t id;
    bool is_copy;
    uint32_t step;
};

struct finder {
    const struct rp_dag_result *dag;
    struct place *places; /* by process, kind, id */
    const struct rp_store *store;
};

static int by_operation(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->lane.process != y->lane.process)
        return x->lane.process < y->lane.process ? -1 : 1;
    if (x->is_copy != y->is_copy)
        return x->is_copy ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

static int by_lane(const void *a, const void *b)
{
    const struct rp_timeline_lane *x = a, *y = b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->agent != y->agent)
        return x->agent < y->agent ? -1 : 1;
    if (x->queue != y->queue)
        return x->queue < y->queue ? -1 : 1;
    return (x->stream > y->stream) - (x->stream < y->stream);
}

/* --- from the stores ------------------------------------------------------------------------ */

/* What the graph left out, for it has no times, or is of a run that is not in it, has no place. */
static void note(const struct finder *f, uint32_t guid_index, const struct place *of)
{
    const struct rp_dag_result *dag = f->dag;
    struct place wanted = *of, *place;
    size_t i = 0;

    while (i < dag->process_count &&
           (dag->processes[i].store != f->store || dag->processes[i].guid_index != guid_index))
        i++;
    wanted.lane.process = (uint32_t)i;
    place = bsearch(&wanted, f->places, dag->step_count, sizeof *f->places, by_operation);
    if (!place)
        return;
    place->lane.queue = of->lane.queue < 0 ? -1 : of->lane.queue;
    place->lane.stream = of->lane.stream < 0 ? -1 : of->lane.stream;
}

static int take_launch(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_launch *r = row;

    (void)err;
    note(ctx, r->guid_index,
         &(struct place){.id = r->dispatch_id,
                         .lane = {.queue = r->queue_id, .stream = r->stream_id}});
    return 0;
}

static int take_copy(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_copy *r = row;

    (void)err;
    note(ctx, r->guid_index,
         &(struct place){
             .id = r->id, .is_copy = true, .lane = {.queue = -1, .stream = r->stream_id}});
    return 0;
}

static void list_places(const struct rp_dag_result *dag, struct place *places)
{
    for (size_t i = 0; i < dag->step_count; i++) {
        const struct rp_dag_step *s = &dag->steps[i];

        places[i] = (struct place){
            .id = s->id,
            .is_copy = s->is_copy,
            .step = (uint32_t)i,
            .lane = {.process = s->process, .agent = s->agent, .queue = -1, .stream = -1},
        };
    }
    qsort(places, dag->step_count, sizeof *places, by_operation);
}

/* --- lanes ---------------------------------------------------------------------------------- */

static int make_lanes(const struct place *places, size_t count, struct rp_timeline *ret,
                      struct rp_err *err)
{
    size_t kept = 0;

    ret->lanes = malloc((count + 1) * sizeof *ret->lanes);
    ret->lane_of_step = malloc((count + 1) * sizeof *ret->lane_of_step);
    if (!ret->lanes || !ret->lane_of_step)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i++)
        ret->lanes[i] = places[i].lane;
    qsort(ret->lanes, count, sizeof *ret->lanes, by_lane);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || by_lane(&ret->lanes[kept - 1], &ret->lanes[i]) != 0)
            ret->lanes[kept++] = ret->lanes[i];
    ret->lane_count = kept;
    for (size_t i = 0; i < count; i++) {
        const struct rp_timeline_lane *lane =
            bsearch(&places[i].lane, ret->lanes, kept, sizeof *ret->lanes, by_lane);
        ret->lane_of_step[places[i].step] = (uint32_t)(lane - ret->lanes);
    }
    return 0;
}

int rp_timeline_make(struct rp_store *const *stores, size_t store_count,
                     const struct rp_dag_result *dag, struct rp_timeline *ret, struct rp_err *err)
{
    rp_autofree struct place *places = calloc(dag->step_count + 1, sizeof *places);
    struct finder f = {.dag = dag, .places = places};
    struct rp_timeline made = {0};
    int rc = places ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    if (rc == 0)
        list_places(dag, places);
    for (size_t i = 0; i < store_count && rc == 0; i++) {
        f.store = stores[i];
        rc = rp_store_each_launch(stores[i], take_launch, &f, err);
        if (rc == 0)
            rc = rp_store_each_copy(stores[i], take_copy, &f, err);
    }
    if (rc == 0)
        rc = make_lanes(places, dag->step_count, &made, err);
    if (rc < 0)
        rp_timeline_free(&made);
    else
        *ret = made;
    return rc;
}

void rp_timeline_free(struct rp_timeline *timeline)
{
    free(timeline->lanes);
    free(timeline->lane_of_step);
    memset(timeline, 0, sizeof *timeline);
}
