/* Room for resident workgroups, reused from one to the next, and by later dispatches. */
/*
 * Workgroup memory: wave states, register rows, LDS and scratch. Rows and scratch come from mmap,
 * so what is not touched costs nothing. A slot serves one workgroup after another and then other
 * dispatches: mapping memory afresh would cost more than a short dispatch takes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "device/exec/exec_settings.h"
#include "device/exec/executor.h"

/* 512 registers, and what the widest operand can reach beyond the last one; 8 more, so that not the
 * same registers of all waves want the same lines of the cache (4 KiB apart). */
enum { ROWS_PER_WAVE = 512 + 32 + 8 };

/* What the process keeps for later dispatches, and how far a search for a fitting slot goes. */
enum { KEPT_SLOTS = 128, KEPT_BYTES = 64 << 20, SEARCHED_SLOTS = 16 };

/* Beyond this much a slot's scratch is returned to the system rather than cleared. */
enum { CLEARED_BYTES = 1 << 20 };

/* The one context of this file: slots nobody uses. */
static struct {
    pthread_mutex_t lock;
    struct rp_resident_group *head;
    unsigned count;
    size_t touched_bytes;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* In a forked child: another thread may have been changing the list. */
static void forget_parent(void)
{
    pthread_mutex_init(&kept.lock, NULL);
    kept.head = NULL;
    kept.count = 0;
    kept.touched_bytes = 0;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_parent);
}

static void lock_kept(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&kept.lock);
}

static size_t rows_bytes(uint32_t waves)
{
    return (size_t)waves * ROWS_PER_WAVE * sizeof(uint32_t[RP_LANES]);
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

static void slot_free(struct rp_resident_group *slot)
{
    if (slot->rows)
        munmap(slot->rows, rows_bytes(slot->wave_capacity));
    if (slot->scratch)
        munmap(slot->scratch, slot->scratch_capacity_bytes);
    free(slot->group.lds);
    free(slot->group.waves);
    free(slot);
}

static struct rp_resident_group *slot_new(const struct rp_kernel *k)
{
    struct rp_resident_group *slot = calloc(1, sizeof *slot);
    if (!slot)
        return NULL;
    slot->wave_capacity = k->waves_per_group;
    slot->lds_capacity_bytes = k->lds_bytes ? (k->lds_bytes + 63) / 64 * 64 : 64;
    slot->scratch_capacity_bytes = scratch_bytes(k);
    slot->group.waves = calloc(slot->wave_capacity, sizeof *slot->group.waves);
    slot->group.lds = aligned_alloc(64, slot->lds_capacity_bytes);
    slot->rows = map_zeroed(rows_bytes(slot->wave_capacity));
    if (slot->scratch_capacity_bytes)
        slot->scratch = map_zeroed(slot->scratch_capacity_bytes);
    if (!slot->group.waves || !slot->group.lds || !slot->rows ||
        (slot->scratch_capacity_bytes && !slot->scratch)) {
        slot_free(slot);
        return NULL;
    }
    return slot;
}

/* One that is large enough, taken off the list, or NULL. */
static struct rp_resident_group *take_kept(const struct rp_kernel *k)
{
    struct rp_resident_group *slot = NULL;
    unsigned searched = 0;
    lock_kept();
    for (struct rp_resident_group **link = &kept.head; *link && searched < SEARCHED_SLOTS;
         link = &(*link)->next, searched++) {
        if ((*link)->wave_capacity >= k->waves_per_group &&
            (*link)->lds_capacity_bytes >= k->lds_bytes &&
            (*link)->scratch_capacity_bytes >= scratch_bytes(k)) {
            slot = *link;
            *link = slot->next;
            kept.count--;
            kept.touched_bytes -= slot->touched_bytes;
            break;
        }
    }
    pthread_mutex_unlock(&kept.lock);
    return slot;
}

struct rp_resident_group *rp_resident_group_take(struct rp_dispatch *d)
{
    const struct rp_kernel *k = &d->kernel;
    struct rp_resident_group *slot = take_kept(k);
    if (!slot)
        slot = slot_new(k);
    if (!slot)
        return NULL;
    slot->next = NULL;
    slot->group.dispatch = d;
    slot->group.lds_bytes = k->lds_bytes;
    for (uint32_t i = 0; i < k->waves_per_group; i++) {
        struct rp_wave *w = &slot->group.waves[i];
        w->group = &slot->group;
        w->id_in_group = i;
        w->vgpr = slot->rows + (size_t)i * ROWS_PER_WAVE;
        w->scratch =
            slot->scratch ? slot->scratch + (size_t)i * k->scratch_lane_bytes * RP_LANES : NULL;
        w->scratch_lane_bytes = k->scratch_lane_bytes;
    }
    size_t touched = (size_t)k->waves_per_group * k->vgpr_rows * sizeof(uint32_t[RP_LANES]);
    if (touched > slot->touched_bytes)
        slot->touched_bytes = touched;
    return slot;
}

/* Scratch as zero as it was in the beginning: the next dispatch's waves divide it differently. */
static void clear_scratch(struct rp_resident_group *slot)
{
    size_t dirty_bytes = 0;
    for (uint32_t i = 0; i < slot->wave_capacity; i++)
        dirty_bytes += (size_t)slot->group.waves[i].scratch_dirty_bytes * RP_LANES;
    if (dirty_bytes > CLEARED_BYTES)
        madvise(slot->scratch, slot->scratch_capacity_bytes, MADV_DONTNEED);
    for (uint32_t i = 0; i < slot->wave_capacity; i++) {
        struct rp_wave *w = &slot->group.waves[i];
        if (dirty_bytes <= CLEARED_BYTES && w->scratch_dirty_bytes)
            memset(w->scratch, 0, (size_t)w->scratch_dirty_bytes * RP_LANES);
        w->scratch_dirty_bytes = 0;
    }
}

void rp_resident_group_give(struct rp_resident_group *slot)
{
    if (!slot)
        return;
    clear_scratch(slot);
    rp_group_clock_end(&slot->group);
    slot->group.env = NULL;
    slot->group.dispatch = NULL;
    lock_kept();
    bool keep = kept.count < KEPT_SLOTS && kept.touched_bytes + slot->touched_bytes <= KEPT_BYTES;
    if (keep) {
        slot->next = kept.head;
        kept.head = slot;
        kept.count++;
        kept.touched_bytes += slot->touched_bytes;
    }
    pthread_mutex_unlock(&kept.lock);
    if (!keep)
        slot_free(slot);
}

void rp_resident_group_start(struct rp_dispatch *d, struct rp_resident_group *slot,
                             uint64_t linear_id, uint64_t past_cycles)
{
    const struct rp_kernel *k = &d->kernel;
    struct rp_group *g = &slot->group;
    g->linear_id = linear_id;
    uint32_t extent[3];
    rp_kernel_group_id(
        k, rp_wave_order_group(d->settings.order, linear_id, k->group_count, k->resident_groups),
        g->id);
    g->start_cycles = k->resident_waves ? past_cycles / k->resident_waves : 0;
    g->wave_count = rp_kernel_group_waves(k, g->id, extent);
    g->waves_ended = g->waves_at_barrier = 0;
    g->wave_budget = g->idle_turns = 0;
    rp_wave_order_begin(d->settings.order, g);
    if (g->lds_bytes)
        memset(g->lds, 0, g->lds_bytes);
    for (uint32_t i = 0; i < g->wave_count; i++) {
        struct rp_wave *w = &g->waves[i];
        if (w->scratch_dirty_bytes)
            memset(w->scratch, 0, (size_t)w->scratch_dirty_bytes * RP_LANES);
        w->scratch_dirty_bytes = 0;
        w->record = NULL;
        rp_kernel_start_wave(k, extent, w);
    }
    if (d->settings.poison)
        rp_exec_poison_group(d->settings.poison, slot);
    if (d->observed)
        d->host->observer->on_group(d, g);
}
