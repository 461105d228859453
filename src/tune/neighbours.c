#include "tune/neighbours.h"

#include <stdlib.h>
#include <string.h>

#include "tune/space.h"

static void keep(struct rp_neighbours *to, int64_t config)
{
    if (config < 0)
        return;
    if (to->count == to->capacity) {
        const size_t capacity = to->capacity ? 2 * to->capacity : 64;
        uint32_t *grown = realloc(to->configs, capacity * sizeof *grown);

        if (!grown) {
            to->failed = true;
            return;
        }
        to->configs = grown;
        to->capacity = capacity;
    }
    to->configs[to->count++] = (uint32_t)config;
}

/** The row exists only with another parameter's value taken away, or with one given to it. */
static void keep_followers(const struct rp_space *space, uint16_t *row, size_t changed,
                           struct rp_neighbours *to)
{
    for (size_t i = 0; i < space->parameter_count; i++) {
        const uint16_t was = row[i];
        const size_t values = was == RP_NO_VALUE ? space->parameters[i].count : 0;

        if (i == changed)
            continue;
        row[i] = RP_NO_VALUE;
        if (was != RP_NO_VALUE)
            keep(to, rp_space_find(space, row));
        for (size_t value = 0; value < values && value < RP_NEIGHBOUR_PLACES; value++) {
            row[i] = (uint16_t)value;
            keep(to, rp_space_find(space, row));
        }
        row[i] = was;
    }
}

static void change(const struct rp_space *space, uint16_t *row, size_t parameter,
                   struct rp_neighbours *to)
{
    const uint16_t was = row[parameter];
    const size_t count = space->parameters[parameter].count;
    const size_t middle = was == RP_NO_VALUE ? 0 : was;
    const size_t from = middle > RP_NEIGHBOUR_PLACES ? middle - RP_NEIGHBOUR_PLACES : 0;

    for (size_t value = from; value < count && value <= middle + RP_NEIGHBOUR_PLACES; value++) {
        const size_t before = to->count;

        if (value == was)
            continue;
        row[parameter] = (uint16_t)value;
        keep(to, rp_space_find(space, row));
        if (to->count == before && was != RP_NO_VALUE && space->conditional)
            keep_followers(space, row, parameter, to);
    }
    if (was != RP_NO_VALUE && space->conditional) {
        row[parameter] = RP_NO_VALUE;
        keep(to, rp_space_find(space, row));
    }
    row[parameter] = was;
}

void rp_neighbours_of(const struct rp_space *space, size_t config, struct rp_neighbours *ret)
{
    uint16_t row[RP_MOST_PARAMETERS];

    memcpy(row, rp_space_row(space, config), space->parameter_count * sizeof *row);
    ret->count = 0;
    for (size_t i = 0; i < space->parameter_count; i++)
        change(space, row, i, ret);
}

void rp_neighbours_free(struct rp_neighbours *neighbours)
{
    if (!neighbours)
        return;
    free(neighbours->configs);
    *neighbours = (struct rp_neighbours){0};
}
