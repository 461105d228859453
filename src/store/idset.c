#include "store/idset.h"

#include <stdlib.h>
#include <string.h>

struct rp_idset_slot {
    int64_t id;
    bool used, written;
};

static size_t hash(int64_t id)
{
    return (size_t)(((uint64_t)id * 0x9e3779b97f4a7c15u) >> 20);
}

static struct rp_idset_slot *probe(struct rp_idset_slot *slots, size_t capacity, int64_t id)
{
    size_t at = hash(id) & (capacity - 1);

    while (slots[at].used && slots[at].id != id)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool grow(struct rp_idset *set)
{
    size_t capacity = set->capacity ? set->capacity * 2 : 64;
    struct rp_idset_slot *slots = calloc(capacity, sizeof *slots);

    if (!slots)
        return false;
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slots[i].used)
            *probe(slots, capacity, set->slots[i].id) = set->slots[i];
    free(set->slots);
    set->slots = slots;
    set->capacity = capacity;
    return true;
}

static struct rp_idset_slot *find_or_add(struct rp_idset *set, int64_t id)
{
    struct rp_idset_slot *slot;

    if (set->used * 2 >= set->capacity && !grow(set))
        return NULL;
    slot = probe(set->slots, set->capacity, id);
    if (!slot->used) {
        *slot = (struct rp_idset_slot){.id = id, .used = true};
        set->used++;
    }
    return slot;
}

bool rp_idset_put(struct rp_idset *set, int64_t id)
{
    struct rp_idset_slot *slot = find_or_add(set, id);

    if (slot)
        slot->written = true;
    return slot != NULL;
}

bool rp_idset_need(struct rp_idset *set, int64_t id)
{
    if (set->last_valid && set->last_used == id)
        return true;
    if (!find_or_add(set, id))
        return false;
    set->last_used = id;
    set->last_valid = true;
    return true;
}

bool rp_idset_has(const struct rp_idset *set, int64_t id)
{
    const struct rp_idset_slot *slot = set->capacity ? probe(set->slots, set->capacity, id) : NULL;

    return slot && slot->used && slot->written;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

int64_t *rp_idset_missing(const struct rp_idset *set, size_t *ret_count)
{
    int64_t *ids = malloc((set->used + 1) * sizeof *ids);
    size_t count = 0;

    if (!ids)
        return NULL;
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slots[i].used && !set->slots[i].written)
            ids[count++] = set->slots[i].id;
    qsort(ids, count, sizeof *ids, by_value);
    *ret_count = count;
    return ids;
}

void rp_idset_free(struct rp_idset *set)
{
    free(set->slots);
    memset(set, 0, sizeof *set);
}
