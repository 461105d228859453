#include "base/numbering.h"

#include <stdbool.h>
#include <stdlib.h>

/* The slot of a key, or the free one where it belongs. */
static uint32_t *slot_of(const struct rp_numbering *n, uint64_t key)
{
    size_t at = (size_t)((key ^ key >> 32) * 0x9e3779b97f4a7c15u >> 32) & (n->slot_count - 1);

    while (n->slots[at] && n->keys[n->slots[at] - 1] != key)
        at = (at + 1) & (n->slot_count - 1);
    return &n->slots[at];
}

static bool grow(struct rp_numbering *n)
{
    size_t slot_count = n->slot_count ? n->slot_count * 2 : 64;
    uint64_t *keys = reallocarray(n->keys, slot_count / 2, sizeof *keys);
    uint32_t *slots;

    if (!keys)
        return false;
    n->keys = keys;
    slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return false;
    free(n->slots);
    n->slots = slots;
    n->slot_count = slot_count;
    for (uint32_t i = 0; i < n->count; i++)
        *slot_of(n, n->keys[i]) = i + 1;
    return true;
}

uint32_t rp_numbering_add(struct rp_numbering *n, uint64_t key)
{
    uint32_t *slot;

    if (n->count && n->keys[n->last] == key)
        return n->last;
    if ((size_t)n->count * 2 >= n->slot_count && (n->count >= RP_NO_NUMBER - 1u || !grow(n)))
        return RP_NO_NUMBER;
    slot = slot_of(n, key);
    if (!*slot) {
        n->keys[n->count] = key;
        *slot = ++n->count;
    }
    return n->last = *slot - 1;
}

uint32_t rp_numbering_find(const struct rp_numbering *n, uint64_t key)
{
    return n->slot_count ? *slot_of(n, key) - 1
                         : RP_NO_NUMBER; /* a free slot, 0, becomes it, too */
}

void rp_numbering_free(struct rp_numbering *n)
{
    free(n->keys);
    free(n->slots);
    *n = (struct rp_numbering){0};
}
