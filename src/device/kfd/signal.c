#include "signal.h"

#include <errno.h>
#include <stdlib.h>

#include "bell.h"

struct rp_amd_signal *rp_signal_at(const struct rp_exec_host *host, uint64_t va)
{
    if (va % sizeof(uint64_t))
        return NULL;
    return host->translate(host->ctx, va, sizeof(struct rp_amd_signal), 1);
}

static void notify(const struct rp_cp *cp, const struct rp_amd_signal *signal)
{
    rp_bell_ring();
    if (signal->mailbox_va == 0)
        return;
    uint64_t *mailbox = cp->host->translate(cp->host->ctx, signal->mailbox_va, sizeof *mailbox, 1);
    if (mailbox)
        __atomic_store_n(mailbox, signal->event_id, __ATOMIC_RELEASE);
    rp_events_set(cp->events, signal->event_id);
}

int rp_signal_complete(const struct rp_cp *cp, uint64_t va, uint64_t start_ticks,
                       uint64_t end_ticks)
{
    if (va == 0)
        return 0;
    struct rp_amd_signal *signal = rp_signal_at(cp->host, va);
    if (!signal)
        return -EFAULT;
    signal->start_ticks = start_ticks;
    signal->end_ticks = end_ticks;
    /* The waiter may free the signal as soon as the value has changed: copy what comes after. */
    struct rp_amd_signal after = *signal;
    __atomic_sub_fetch(&signal->value, 1, __ATOMIC_SEQ_CST);
    notify(cp, &after);
    return 0;
}

int rp_signal_store(const struct rp_cp *cp, uint64_t va, int64_t value)
{
    struct rp_amd_signal *signal = va ? rp_signal_at(cp->host, va) : NULL;
    if (!signal)
        return -EFAULT;
    struct rp_amd_signal after = *signal;
    __atomic_store_n(&signal->value, value, __ATOMIC_SEQ_CST);
    notify(cp, &after);
    return 0;
}

/** The slot of an address, or the empty one where it belongs. There is always an empty one. */
static struct rp_store_time *store_slot(const struct rp_store_times *times, uint64_t va)
{
    size_t at = (size_t)((va >> 3) * 0x9e3779b97f4a7c15ull >> 32);
    for (;; at++) {
        struct rp_store_time *slot = &times->slots[at & (times->capacity - 1)];
        if (slot->va == va || slot->va == 0)
            return slot;
    }
}

static int grow(struct rp_store_times *times)
{
    struct rp_store_times larger = {.count = times->count,
                                    .capacity = times->capacity ? times->capacity * 2 : 1024};
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < times->capacity; i++)
        if (times->slots[i].va)
            *store_slot(&larger, times->slots[i].va) = times->slots[i];
    free(times->slots);
    *times = larger;
    return 0;
}

void rp_signal_note_store(const struct rp_cp *cp, uint64_t va, uint64_t ticks)
{
    struct rp_store_times *times = cp->stores;
    va &= ~7ull;
    /* Without host memory the order in modelled time suffers, no result. */
    if (!times || va == 0 || (2 * (times->count + 1) > times->capacity && grow(times) < 0))
        return;
    struct rp_store_time *slot = store_slot(times, va);
    times->count += slot->va == 0;
    *slot = (struct rp_store_time){va, ticks};
}

void rp_store_times_release(struct rp_store_times *times)
{
    free(times->slots);
    *times = (struct rp_store_times){0};
}

uint64_t rp_signal_end_ticks(const struct rp_cp *cp, uint64_t value_va)
{
    uint64_t now = rp_clock_now(cp->clock), end = 0;
    const struct rp_amd_signal *signal =
        rp_signal_at(cp->host, value_va - offsetof(struct rp_amd_signal, value));
    if (signal && signal->end_ticks <= now)
        end = signal->end_ticks;
    if (cp->stores && cp->stores->capacity) {
        const struct rp_store_time *stored = store_slot(cp->stores, value_va);
        if (stored->va == value_va && stored->ticks > end && stored->ticks <= now)
            end = stored->ticks;
    }
    return end;
}

void rp_signal_interrupt(struct rp_events *events, uint32_t m0)
{
    /* The message carries the low 8 bits of the event id (the device library masks them so); the
     * driver looks the full id up in the event page. Setting every candidate is a spurious wake
     * at worst: waiters look at their signal's value. */
    uint32_t low = m0 & 0xff;
    for (uint32_t id = low ? low : 256; id < RP_KFD_EVENT_LIMIT; id += 256)
        rp_events_set(events, id);
}
