#include "replay/addresses.h"

#include <stdlib.h>
#include <string.h>

#include "replay/replay.h"

/* Where two ranges meet, either will do. */
static int by_range(const void *key, const void *element)
{
    const uint64_t value = *(const uint64_t *)key;
    const struct rp_replay_range *range = element;

    return value < range->base ? -1 : value - range->base > range->bytes;
}

/* Most values are far from all: known without a search. */
struct span {
    uint64_t base, bytes;
};

static struct span span_of(const struct rp_addresses *a)
{
    const struct rp_replay_range *last = &a->ranges[a->count - 1];

    return (struct span){a->ranges[0].base, last->base + last->bytes - a->ranges[0].base};
}

static bool is_in_range(const struct rp_addresses *a, uint64_t value)
{
    return bsearch(&value, a->ranges, a->count, sizeof *a->ranges, by_range) != NULL;
}

bool rp_addresses_have(const struct rp_addresses *a, uint64_t value)
{
    const struct span span = a->count ? span_of(a) : (struct span){0};

    return a->count && value - span.base <= span.bytes && is_in_range(a, value);
}

bool rp_addresses_are_in(const struct rp_addresses *a, const uint8_t *page, size_t bytes)
{
    const struct span span = a->count ? span_of(a) : (struct span){0};

    for (size_t at = 0; a->count && at + 8 <= bytes; at += 8) {
        uint64_t value;

        memcpy(&value, page + at, sizeof value);
        if (value - span.base <= span.bytes && is_in_range(a, value))
            return true;
    }
    return false;
}
