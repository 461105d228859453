#include "store/idset.h"

#include <stdlib.h>
#include <string.h>

/* The number of an id, with room for whether it was written. */
static uint32_t number_of(struct rp_idset *set, int64_t id)
{
    uint32_t number = rp_numbering_add(&set->ids, (uint64_t)id);

    if (number != RP_NO_NUMBER && number >= set->room) {
        size_t room = set->room ? set->room * 2 : 64;
        bool *written = realloc(set->written, room * sizeof *written);
        if (!written)
            return RP_NO_NUMBER;
        memset(written + set->room, 0, (room - set->room) * sizeof *written);
        set->written = written;
        set->room = room;
    }
    return number;
}

bool rp_idset_put(struct rp_idset *set, int64_t id)
{
    uint32_t number = number_of(set, id);

    if (number != RP_NO_NUMBER)
        set->written[number] = true;
    return number != RP_NO_NUMBER;
}

bool rp_idset_need(struct rp_idset *set, int64_t id)
{
    return number_of(set, id) != RP_NO_NUMBER;
}

bool rp_idset_has(const struct rp_idset *set, int64_t id)
{
    uint32_t number = rp_numbering_find(&set->ids, (uint64_t)id);

    return number != RP_NO_NUMBER && number < set->room && set->written[number];
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

int64_t *rp_idset_missing(const struct rp_idset *set, size_t *ret_count)
{
    int64_t *ids = malloc(((size_t)set->ids.count + 1) * sizeof *ids);
    size_t count = 0;

    if (!ids)
        return NULL;
    for (uint32_t i = 0; i < set->ids.count; i++)
        if (i >= set->room || !set->written[i])
            ids[count++] = (int64_t)set->ids.keys[i];
    qsort(ids, count, sizeof *ids, by_value);
    *ret_count = count;
    return ids;
}

void rp_idset_free(struct rp_idset *set)
{
    rp_numbering_free(&set->ids);
    free(set->written);
    memset(set, 0, sizeof *set);
}
