#include "analysis/parts.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* Groups, found by what their dispatches have in common. */
struct reading {
    const struct rp_store *from;
    struct rp_dispatch_group *groups;
    size_t count, capacity;
    uint32_t *slots; /* index of a group + 1, hashed; 0 = free */
    size_t slot_count;
    uint32_t store;
    struct rp_replays replays;
    struct rp_overlaps overlaps;
    bool is_modelled;
};

int rp_profile_by_first(const struct rp_dispatch_group *a, const struct rp_dispatch_group *b)
{
    if (a->store != b->store)
        return a->store < b->store ? -1 : 1;
    if (a->first_start_ns != b->first_start_ns)
        return a->first_start_ns < b->first_start_ns ? -1 : 1;
    if (a->guid_index != b->guid_index)
        return a->guid_index < b->guid_index ? -1 : 1;
    return (a->first_id > b->first_id) - (a->first_id < b->first_id);
}

static int by_first(const void *a, const void *b)
{
    return rp_profile_by_first(a, b);
}

static uint64_t mix(uint64_t hash, int64_t number)
{
    hash = (hash ^ (uint64_t)number) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static uint64_t hash_of(const struct rp_dispatch_group *group)
{
    uint64_t hash = mix(mix(group->guid_index, group->agent_id), group->kernel_id);

    for (size_t i = 0; i < RP_GEOMETRY_COLUMNS; i++)
        hash = mix(hash, group->geometry[i]);
    return hash;
}

static bool is_same(const struct rp_dispatch_group *a, const struct rp_dispatch_group *b)
{
    return a->kernel_id == b->kernel_id && a->agent_id == b->agent_id &&
           a->guid_index == b->guid_index &&
           memcmp(a->geometry, b->geometry, sizeof a->geometry) == 0;
}

static uint32_t *slot_of(const struct reading *r, const struct rp_dispatch_group *group)
{
    size_t at = (size_t)hash_of(group) & (r->slot_count - 1);

    while (r->slots[at] && !is_same(&r->groups[r->slots[at] - 1], group))
        at = (at + 1) & (r->slot_count - 1);
    return &r->slots[at];
}

static bool grow_slots(struct reading *r)
{
    size_t count = r->slot_count ? r->slot_count * 2 : 256;
    uint32_t *slots = calloc(count, sizeof *slots);

    if (!slots || r->count >= UINT32_MAX) {
        free(slots);
        return false;
    }
    free(r->slots);
    r->slots = slots;
    r->slot_count = count;
    for (size_t i = 0; i < r->count; i++)
        *slot_of(r, &r->groups[i]) = (uint32_t)i + 1;
    return true;
}

/* The dispatch's group, made when it is the first of it; NULL: out of memory. */
static struct rp_dispatch_group *group_of(struct reading *r, const struct rp_row_dispatch *row)
{
    struct rp_dispatch_group group = {
        .agent_id = row->agent_id,
        .kernel_id = row->kernel_id,
        .geometry = {row->grid[0], row->grid[1], row->grid[2], row->workgroup[0], row->workgroup[1],
                     row->workgroup[2], row->group_bytes, row->private_bytes},
        .first_start_ns = row->start_ns,
        .first_id = row->id,
        .guid_index = row->guid_index,
        .store = r->store,
    };
    struct rp_dispatch_group *grown;
    uint32_t *slot;

    if (r->count * 2 >= r->slot_count && !grow_slots(r))
        return NULL;
    slot = slot_of(r, &group);
    if (*slot)
        return &r->groups[*slot - 1];
    grown = rp_grow(r->groups, r->count, &r->capacity, sizeof *grown);
    if (!grown)
        return NULL;
    r->groups = grown;
    grown[r->count++] = group;
    *slot = (uint32_t)r->count;
    return &grown[r->count - 1];
}

static int take(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_dispatch *dispatch = row;
    struct rp_dispatch_group *group = group_of(ctx, dispatch);
    struct reading *r = ctx;
    struct rp_replayed replayed;
    uint64_t ns;

    if (!group)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (dispatch->start_ns < group->first_start_ns ||
        (dispatch->start_ns == group->first_start_ns && dispatch->id < group->first_id)) {
        group->first_start_ns = dispatch->start_ns;
        group->first_id = dispatch->id;
    }
    group->count++;
    if (!rp_dispatch_duration_ns(r->from, dispatch, &ns))
        return 0;
    if (__builtin_add_overflow(group->total_ns, ns, &group->total_ns))
        return rp_refuse_sum(r->from, err);
    if (group->timed_count == 0 || ns < group->min_ns)
        group->min_ns = ns;
    if (ns > group->max_ns)
        group->max_ns = ns;
    group->timed_count++;
    if (r->is_modelled && !rp_overlaps_add(&r->overlaps, dispatch))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    replayed = rp_replays_of(&r->replays, dispatch);
    rp_replayed_add(&group->replayed, &group->replayed_ns, &replayed, ns);
    return 0;
}

int rp_profile_read_groups(struct rp_store *store, uint32_t number, struct rp_dispatch_group **ret,
                           size_t *ret_count, struct rp_overlapped *ret_overlapped,
                           struct rp_err *err)
{
    struct reading r = {.from = store,
                        .store = number,
                        .is_modelled = rp_store_metadata(store, RP_STORE_TIMING_TAG) != NULL};
    struct rp_overlapped overlapped = {0};
    int rc = rp_replays_read(store, &r.replays, err);

    if (rc == 0)
        rc = rp_store_each_work(store, take, &r, err);
    if (rc == 0)
        rc = rp_overlaps_sum(&r.overlaps, &overlapped, err);
    free(r.overlaps.rows);
    free(r.replays.rows);
    free(r.slots);
    if (rc < 0) {
        free(r.groups);
        return rc;
    }
    if (r.count)
        qsort(r.groups, r.count, sizeof *r.groups, by_first);
    *ret = r.groups;
    *ret_count = r.count;
    *ret_overlapped = overlapped;
    return 0;
}
