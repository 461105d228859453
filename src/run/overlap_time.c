#include "run/overlap_time.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "trace/records.h"

/* Shares of a resource are in whole parts, so that sums of many begin and end at 0. What a resource
 * lacks by less than SLACK of it is rounding. */
enum { WHOLE = 1 << 20, SLACK = WHOLE / 1000 };

/* A link between two GPUs is a resource, too, in each direction. */
enum { PEER_LINK = RP_SHARED_RESOURCES };

struct resource {
    uint64_t agent, other; /**< other: of a link */
    uint32_t kind;         /**< enum rp_shared_resource, or PEER_LINK */
    int64_t used;          /**< of WHOLE, at present */
};

/** From here on a resource is used more, or less. */
struct change {
    int64_t ns;
    uint32_t resource;
    int32_t share;
};

/** Up to the next point, time takes so many times as long. */
struct point {
    int64_t ns, later_ns; /**< by how much what happens here is later */
    double factor;
};

struct sharing {
    const struct rp_record *records;
    size_t count;
    const struct rp_record_file *file;
    const struct rp_rec_simulation **simulations; /**< by dispatch_id */
    size_t simulation_count;
    struct resource *resources;
    size_t resource_count, resource_room;
    struct change *changes;
    size_t change_count, change_room;
    struct point *points;
    size_t point_count;
};

/* ---- what each needs ------------------------------------------------------------------------ */

static uint32_t resource_of(struct sharing *s, uint32_t kind, uint64_t agent, uint64_t other)
{
    for (size_t i = 0; i < s->resource_count; i++)
        if (s->resources[i].kind == kind && s->resources[i].agent == agent &&
            s->resources[i].other == other)
            return (uint32_t)i;
    s->resources = rp_realloc_array(s->resources, s->resource_count + 1, sizeof *s->resources);
    s->resources[s->resource_count] =
        (struct resource){.kind = kind, .agent = agent, .other = other};
    return (uint32_t)s->resource_count++;
}

static void put_change(struct sharing *s, int64_t ns, uint32_t resource, int32_t share)
{
    if (s->change_count == s->change_room) {
        s->change_room = s->change_room ? 2 * s->change_room : 64;
        s->changes = rp_realloc_array(s->changes, s->change_room, sizeof *s->changes);
    }
    s->changes[s->change_count++] = (struct change){.ns = ns, .resource = resource, .share = share};
}

/* Work needs @p needs_ns of a resource; no more than all of it, as it had that to itself. */
static void need(struct sharing *s, uint32_t resource, uint64_t start_ns, uint64_t end_ns,
                 double needs_ns)
{
    const double part = end_ns > start_ns ? needs_ns / (double)(end_ns - start_ns) : 0;
    const int32_t share = part < 1 ? (int32_t)(part * WHOLE) : WHOLE;

    if (share <= 0)
        return;
    put_change(s, (int64_t)start_ns, resource, share);
    put_change(s, (int64_t)end_ns, resource, -share);
}

static int by_dispatch(const void *a, const void *b)
{
    const struct rp_rec_simulation *x = *(const struct rp_rec_simulation *const *)a;
    const struct rp_rec_simulation *y = *(const struct rp_rec_simulation *const *)b;

    return (x->dispatch_id > y->dispatch_id) - (x->dispatch_id < y->dispatch_id);
}

static void find_simulations(struct sharing *s)
{
    s->simulations = rp_alloc((s->count + 1) * sizeof *s->simulations);
    for (size_t i = 0; i < s->count; i++)
        if (s->records[i].kind == RP_REC_SIMULATION && s->records[i].u.simulation.replayed_waves)
            s->simulations[s->simulation_count++] = &s->records[i].u.simulation;
    if (s->simulation_count)
        qsort(s->simulations, s->simulation_count, sizeof *s->simulations, by_dispatch);
}

static void need_dispatch(struct sharing *s, const struct rp_rec_dispatch *d)
{
    const struct rp_rec_simulation key = {.dispatch_id = d->dispatch_id}, *wanted = &key;
    const struct rp_rec_simulation **found =
        bsearch(&wanted, s->simulations, s->simulation_count, sizeof *s->simulations, by_dispatch);

    for (uint32_t i = 0; found && i < RP_SHARED_RESOURCES; i++)
        if ((*found)->needs_ns[i] > 0)
            need(s, resource_of(s, i, d->agent, 0), d->start_ns, d->end_ns, (*found)->needs_ns[i]);
}

static const struct rp_rec_agent *gpu(const struct sharing *s, uint64_t handle)
{
    if (handle == 0) /* This is the host in copies of rectangles. */
        return NULL;
    for (size_t i = 0; i < s->count; i++)
        if (s->records[i].kind == RP_REC_AGENT && s->records[i].u.agent.handle == handle)
            return s->records[i].u.agent.type == 1 ? &s->records[i].u.agent : NULL;
    return NULL;
}

/* What passes through the memory of a GPU once. */
static void need_memory(struct sharing *s, const struct rp_rec_agent *agent,
                        const struct rp_rec_copy *copy)
{
    const struct rp_arch *arch =
        agent ? rp_arch_find(rp_record_file_string(s->file, agent->name_id)) : NULL;
    const double gbps = arch ? arch->hbm_peak_gbps * arch->hbm_efficiency : 0;

    if (gbps > 0)
        need(s, resource_of(s, RP_SHARED_HBM, agent->handle, 0), copy->start_ns, copy->end_ns,
             (double)copy->bytes / gbps);
}

/* A copy was timed by the link that it crosses, all of which it needs. */
static void need_copy(struct sharing *s, const struct rp_rec_copy *copy)
{
    const struct rp_rec_agent *from = gpu(s, copy->src_agent), *to = gpu(s, copy->dst_agent);
    const double all_ns = (double)(copy->end_ns - copy->start_ns);
    uint32_t link = UINT32_MAX;

    if (from && to && from != to)
        link = resource_of(s, PEER_LINK, from->handle, to->handle);
    else if (to && !from)
        link = resource_of(s, RP_SHARED_FROM_HOST, to->handle, 0);
    else if (from && !to)
        link = resource_of(s, RP_SHARED_TO_HOST, from->handle, 0);
    if (link != UINT32_MAX)
        need(s, link, copy->start_ns, copy->end_ns, all_ns);
    need_memory(s, from, copy);
    need_memory(s, to, copy);
}

/* ---- stretching ----------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Returns how many times as long what runs at present takes together. */
static double factor_of(const struct sharing *s)
{
    int64_t most = WHOLE;

    for (size_t i = 0; i < s->resource_count; i++)
        if (s->resources[i].used > most)
            most = s->resources[i].used;
    return most > WHOLE + SLACK ? (double)most / WHOLE : 1;
}

static int64_t stretched(const struct point *from, int64_t ns)
{
    return ns + from->later_ns + (int64_t)((double)(ns - from->ns) * (from->factor - 1));
}

/* Returns whether any time is stretched at all. */
static bool find_points(struct sharing *s)
{
    bool any = false;

    if (s->change_count)
        qsort(s->changes, s->change_count, sizeof *s->changes, by_time);
    s->points = rp_alloc((s->change_count + 1) * sizeof *s->points);
    for (size_t i = 0; i < s->change_count;) {
        struct point *point = &s->points[s->point_count];
        const int64_t ns = s->changes[i].ns;

        for (; i < s->change_count && s->changes[i].ns == ns; i++)
            s->resources[s->changes[i].resource].used += s->changes[i].share;
        *point = (struct point){.ns = ns, .factor = factor_of(s)};
        if (s->point_count)
            point->later_ns = stretched(point - 1, ns) - ns;
        any |= point->factor > 1;
        s->point_count++;
    }
    return any;
}

static uint64_t time_of(const struct sharing *s, uint64_t ns)
{
    size_t low = 0, high = s->point_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->points[middle].ns <= (int64_t)ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? (uint64_t)stretched(&s->points[low - 1], (int64_t)ns) : ns;
}

static void stretch(const struct sharing *s, struct rp_record *record)
{
    struct rp_rec_dispatch *d = &record->u.dispatch;
    struct rp_rec_copy *c = &record->u.copy;

    if (record->kind == RP_REC_DISPATCH) {
        d->start_ns = time_of(s, d->start_ns);
        d->end_ns = time_of(s, d->end_ns);
    } else if (record->kind == RP_REC_COPY) {
        c->start_ns = time_of(s, c->start_ns);
        c->end_ns = time_of(s, c->end_ns);
    }
}

static bool is_modelled(const struct rp_trace_header *header)
{
    return header->flags & RP_TRACE_SOFTWARE && header->timing != RP_TRACE_TIMING_NONE &&
           header->timing != RP_TRACE_TIMING_OFF;
}

void rp_overlap_time_share(struct rp_record_file *file)
{
    struct sharing s = {.file = file};

    s.records = rp_record_file_records(file, &s.count);
    if (!is_modelled(rp_record_file_header(file)))
        return;
    find_simulations(&s);
    for (size_t i = 0; i < s.count; i++)
        if (s.records[i].kind == RP_REC_DISPATCH)
            need_dispatch(&s, &s.records[i].u.dispatch);
        else if (s.records[i].kind == RP_REC_COPY)
            need_copy(&s, &s.records[i].u.copy);
    if (find_points(&s)) {
        struct rp_record *changed = rp_alloc(s.count * sizeof *changed);

        memcpy(changed, s.records, s.count * sizeof *changed);
        for (size_t i = 0; i < s.count; i++)
            stretch(&s, &changed[i]);
        rp_record_file_replace(file, changed);
    }
    free(s.simulations);
    free(s.resources);
    free(s.changes);
    free(s.points);
}
