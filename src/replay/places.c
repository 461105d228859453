#include "replay/places.h"

#include <stdbool.h>
#include <string.h>

#include "trace/capture_stream.h"

/* splitmix64 */
static uint64_t mix(uint64_t x, uint64_t more)
{
    x = (x ^ more) + 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* The offset of the first argument that points into it, or SIZE_MAX. */
static size_t argument_of(const struct rp_snapshot_region *region, const uint8_t *kernarg,
                          size_t bytes)
{
    for (size_t at = 0; at + 8 <= bytes; at += 8) {
        uint64_t value;

        memcpy(&value, kernarg + at, sizeof value);
        if (value - region->base < region->bytes)
            return at;
    }
    return SIZE_MAX;
}

static bool is_like(const struct rp_snapshot_region *a, const struct rp_snapshot_region *b)
{
    return a->bytes == b->bytes && a->memory_class == b->memory_class && a->flags == b->flags &&
           a->node == b->node;
}

void rp_replay_places_find(const struct rp_snapshot_region *const *regions, size_t count,
                           const void *kernarg, size_t kernarg_bytes, uint64_t *ret)
{
    static const uint64_t whole_tib = ~(((uint64_t)1 << 40) - 1);

    for (size_t i = 0; i < count; i++) {
        const struct rp_snapshot_region *r = regions[i];
        const size_t argument = argument_of(r, kernarg, kernarg_bytes);
        uint64_t place = mix(1, argument), like = 0;

        for (size_t j = 0; j < count && argument == SIZE_MAX; j++)
            like += regions[j]->base < r->base && is_like(regions[j], r) &&
                    argument_of(regions[j], kernarg, kernarg_bytes) == SIZE_MAX;
        if (argument == SIZE_MAX) {
            place = mix(mix(place, r->bytes), r->memory_class);
            place = mix(mix(mix(place, r->flags), r->node), like);
        }
        ret[i] = place & whole_tib;
    }
}
