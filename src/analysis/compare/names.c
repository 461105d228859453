#include "analysis/compare/names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-perf/compare.h"

static uint64_t hash_of(const char *name)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 1099511628211u;
    return hash ^ hash >> 32;
}

/* The slot of a name, or the free one where it belongs. */
static uint32_t *slot_of(const struct rp_versus_side *side, const char *name)
{
    size_t at = (size_t)hash_of(name) & (side->slot_count - 1);

    while (side->slots[at] && strcmp(side->kernels[side->slots[at] - 1].name, name) != 0)
        at = (at + 1) & (side->slot_count - 1);
    return &side->slots[at];
}

static void fill(struct rp_versus_side *side)
{
    for (size_t i = 0; i < side->kernel_count; i++)
        *slot_of(side, side->kernels[i].name) = (uint32_t)i + 1;
}

bool rp_versus_names_add(struct rp_versus_side *side)
{
    const size_t at = side->kernel_count - 1, more = side->slot_count ? 2 * side->slot_count : 64;
    uint32_t *slots;

    if (side->kernel_count >= UINT32_MAX)
        return false;
    if (side->kernel_count * 2 <= side->slot_count) {
        *slot_of(side, side->kernels[at].name) = (uint32_t)side->kernel_count;
        return true;
    }
    slots = calloc(more, sizeof *slots);
    if (!slots)
        return false;
    free(side->slots);
    side->slots = slots;
    side->slot_count = more;
    fill(side);
    return true;
}

void rp_versus_names_again(struct rp_versus_side *side)
{
    if (!side->slots)
        return;
    memset(side->slots, 0, side->slot_count * sizeof *side->slots);
    fill(side);
}

struct rp_versus_kernel *rp_versus_side_find(const struct rp_versus_side *side, const char *name)
{
    uint32_t number;

    if (!name)
        return NULL;
    if (side->slots) {
        number = *slot_of(side, name);
        return number ? &side->kernels[number - 1] : NULL;
    }
    for (size_t i = 0; i < side->kernel_count; i++) /* one that was put together by hand */
        if (strcmp(side->kernels[i].name, name) == 0)
            return &side->kernels[i];
    return NULL;
}
