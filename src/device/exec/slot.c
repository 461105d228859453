/*
 * Workgroup memory. Each slot holds the largest workgroup of its dispatch: wave states, register
 * rows, LDS and scratch. Rows and scratch come from mmap, so what is not touched costs nothing.
 */
#include "slot.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* 512 registers, and what the widest operand can reach beyond the last one. */
enum { ROWS_PER_WAVE = 512 + 32 };

static size_t rows_bytes(const struct rp_kernel *k)
{
    return (size_t)k->waves_per_group * ROWS_PER_WAVE * sizeof(uint32_t[RP_LANES]);
}

static size_t scratch_bytes(const struct rp_kernel *k)
{
    return (size_t)k->waves_per_group * k->scratch_lane_bytes * RP_LANES;
}

static void *map_zeroed(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void slot_free(const struct rp_kernel *k, struct rp_slot *slot)
{
    if (!slot)
        return;
    if (slot->rows)
        munmap(slot->rows, rows_bytes(k));
    if (slot->scratch)
        munmap(slot->scratch, scratch_bytes(k));
    free(slot->group.lds);
    free(slot->group.waves);
    free(slot);
}

static struct rp_slot *slot_new(struct rp_dispatch *d)
{
    const struct rp_kernel *k = &d->kernel;
    struct rp_slot *slot = calloc(1, sizeof *slot);
    if (!slot)
        return NULL;
    slot->group.waves = calloc(k->waves_per_group, sizeof *slot->group.waves);
    slot->group.lds = aligned_alloc(64, k->lds_bytes ? (k->lds_bytes + 63) / 64 * 64 : 64);
    slot->rows = map_zeroed(rows_bytes(k));
    if (k->scratch_lane_bytes)
        slot->scratch = map_zeroed(scratch_bytes(k));
    if (!slot->group.waves || !slot->group.lds || !slot->rows ||
        (k->scratch_lane_bytes && !slot->scratch)) {
        slot_free(k, slot);
        return NULL;
    }
    slot->group.dispatch = d;
    slot->group.lds_bytes = k->lds_bytes;
    for (uint32_t i = 0; i < k->waves_per_group; i++) {
        struct rp_wave *w = &slot->group.waves[i];
        w->group = &slot->group;
        w->id_in_group = i;
        w->vgpr = slot->rows + (size_t)i * ROWS_PER_WAVE;
        w->scratch = slot->scratch + (size_t)i * k->scratch_lane_bytes * RP_LANES;
        w->scratch_lane_bytes = k->scratch_lane_bytes;
    }
    return slot;
}

static bool remember(struct rp_dispatch *d, struct rp_slot *slot)
{
    if (d->slot_count == d->slot_capacity) {
        size_t capacity = d->slot_capacity ? 2 * d->slot_capacity : 16;
        struct rp_slot **grown = realloc(d->slots, capacity * sizeof *grown);
        if (!grown)
            return false;
        d->slots = grown;
        d->slot_capacity = capacity;
    }
    d->slots[d->slot_count++] = slot;
    return true;
}

struct rp_slot *rp_slot_take(struct rp_dispatch *d)
{
    struct rp_slot *slot = d->free_slots;
    if (slot) {
        d->free_slots = slot->next;
        slot->next = NULL;
        return slot;
    }
    slot = slot_new(d);
    if (slot && !remember(d, slot)) {
        slot_free(&d->kernel, slot);
        return NULL;
    }
    return slot;
}

void rp_slot_release(struct rp_dispatch *d, struct rp_slot *slot)
{
    slot->next = d->free_slots;
    d->free_slots = slot;
}

void rp_slot_start_group(struct rp_dispatch *d, struct rp_slot *slot, uint64_t linear_id)
{
    const struct rp_kernel *k = &d->kernel;
    struct rp_group *g = &slot->group;
    g->linear_id = linear_id;
    g->id[0] = (uint32_t)(linear_id % k->groups[0]);
    g->id[1] = (uint32_t)(linear_id / k->groups[0] % k->groups[1]);
    g->id[2] = (uint32_t)(linear_id / k->groups[0] / k->groups[1]);
    g->start_cycles = k->resident_waves ? d->retired_cycles / k->resident_waves : 0;
    g->wave_count = rp_kernel_group_waves(k, g->id);
    g->waves_ended = g->waves_at_barrier = 0;
    g->cursor = g->wave_budget = g->idle_turns = g->visits = 0;
    g->slice_budget = 0;
    /* Hardware leaves LDS, scratch and registers as they were; here they start as zero, so that a
     * program that reads them too early gives the same result every time. */
    memset(g->lds, 0, g->lds_bytes);
    for (uint32_t i = 0; i < g->wave_count; i++) {
        struct rp_wave *w = &g->waves[i];
        if (w->scratch_dirty_bytes)
            memset(w->scratch, 0, (size_t)w->scratch_dirty_bytes * RP_LANES);
        w->scratch_dirty_bytes = 0;
        rp_kernel_start_wave(k, w);
    }
}

void rp_slot_free_all(struct rp_dispatch *d)
{
    for (size_t i = 0; i < d->slot_count; i++)
        slot_free(&d->kernel, d->slots[i]);
    free(d->slots);
    d->slots = NULL;
    d->slot_count = d->slot_capacity = 0;
}
