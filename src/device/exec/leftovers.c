#include "leftovers.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "dispatch.h"
#include "wave.h"

static _Atomic uint32_t now;

void rp_leftovers_set(uint32_t seed)
{
    atomic_store(&now, seed);
}

uint32_t rp_leftovers(void)
{
    return atomic_load(&now);
}

bool rp_leftovers_parse(const char *text, uint32_t *ret)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || *text < '0' || *text > '9' || *end || value < 1 || value > INT32_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

/* Words of all kinds: no one constant, by which a sum or a maximum might not change. Never zero. */
static void fill(uint32_t seed, uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t x = (uint32_t)i * 0x9e3779b1u ^ seed * 0x85ebca6bu;
        x = (x ^ x >> 15) * 0x2c1b3c6du;
        words[i] = (x ^ x >> 13) | 1;
    }
}

void rp_leftovers_in_group(uint32_t seed, struct rp_resident_group *slot)
{
    struct rp_group *g = &slot->group;
    fill(seed, (uint32_t *)(void *)g->lds, g->lds_bytes / sizeof(uint32_t));
    for (uint32_t i = 0; i < g->wave_count; i++) {
        struct rp_wave *w = &g->waves[i];
        if (!w->scratch)
            continue;
        fill(seed + 1, (uint32_t *)(void *)w->scratch, w->scratch_lane_bytes / 4 * RP_LANES);
        w->scratch_dirty_bytes = w->scratch_lane_bytes;
    }
}

void rp_leftovers_in_wave(uint32_t seed, uint32_t vgpr_rows, unsigned first_sgpr, struct rp_wave *w)
{
    if (vgpr_rows > 1)
        fill(seed + 2, w->vgpr[1], (size_t)(vgpr_rows - 1) * RP_LANES);
    if (first_sgpr < RP_SGPR_FLAT_SCRATCH_LO)
        fill(seed + 3, w->sgpr + first_sgpr, RP_SGPR_FLAT_SCRATCH_LO - first_sgpr);
    fill(seed + 4, w->sgpr + RP_SGPR_VCC_LO, 2);
}
