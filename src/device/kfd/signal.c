#include "signal.h"

#include <errno.h>
#include <stdlib.h>

#include "bell.h"
#include "host_ns.h"

struct rp_amd_signal *rp_signal_at(const struct rp_exec_host *host, uint64_t va)
{
    if (va % sizeof(uint64_t))
        return NULL;
    return host->translate(host->ctx, va, sizeof(struct rp_amd_signal), 1);
}

/* ---- times of stores ---------------------------------------------------------------------- */

void rp_store_times_init(struct rp_store_times *times)
{
    *times = (struct rp_store_times){0};
    pthread_mutex_init(&times->lock, NULL);
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
    size_t capacity = times->capacity ? times->capacity * 2 : 1024, old = times->capacity;
    struct rp_store_time *slots = calloc(capacity, sizeof *slots), *before = times->slots;
    if (!slots)
        return -ENOMEM;
    times->slots = slots;
    times->capacity = capacity;
    for (size_t i = 0; i < old; i++)
        if (before[i].va)
            *store_slot(times, before[i].va) = before[i];
    free(before);
    return 0;
}

struct rp_store_time *rp_store_time_of(struct rp_store_times *times, uint64_t va)
{
    struct rp_store_time *slot = times->capacity ? store_slot(times, va) : NULL;
    return slot && slot->va == va && va ? slot : NULL;
}

struct rp_store_time *rp_store_time_make(struct rp_store_times *times, uint64_t va)
{
    if (va == 0 || (2 * (times->count + 1) > times->capacity && grow(times) < 0))
        return NULL;
    struct rp_store_time *slot = store_slot(times, va);
    times->count += slot->va == 0;
    slot->va = va;
    return slot;
}

/** Several packets may count one signal down: it is complete when the latest of them is. */
static void note(struct rp_store_times *times, uint64_t va, int64_t was, int64_t left,
                 uint64_t ticks)
{
    /* Without host memory the order in modelled time suffers, no result. */
    struct rp_store_time *slot = times ? rp_store_time_make(times, va) : NULL;
    if (!slot)
        return;
    if (slot->value != was || slot->ticks < ticks)
        slot->ticks = ticks;
    slot->value = left;
    slot->host_ns = rp_host_ns();
}

static void store_over(struct rp_store_times *times)
{
    if (times)
        pthread_mutex_unlock(&times->lock);
}

void rp_signal_store_begin(const struct rp_cp *cp)
{
    if (cp->stores)
        pthread_mutex_lock(&cp->stores->lock);
}

void rp_signal_store_end(const struct rp_cp *cp, uint64_t va, const void *at, uint64_t ticks)
{
    const int64_t *word = (const int64_t *)((uintptr_t)at & ~(uintptr_t)7);
    int64_t left = __atomic_load_n(word, __ATOMIC_RELAXED);
    note(cp->stores, va & ~7ull, left + 1, left, ticks);
    store_over(cp->stores);
}

void rp_store_times_release(struct rp_store_times *times)
{
    free(times->slots);
    times->slots = NULL;
    times->count = times->capacity = 0;
}

/* ---- signals ------------------------------------------------------------------------------ */

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
    rp_signal_store_begin(cp);
    int64_t left = __atomic_sub_fetch(&signal->value, 1, __ATOMIC_SEQ_CST);
    note(cp->stores, va + offsetof(struct rp_amd_signal, value), left + 1, left, end_ticks);
    store_over(cp->stores);
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

/** The entry of the value, if that is still what is there. */
static bool stored(const struct rp_cp *cp, uint64_t value_va, uint64_t *ret_ticks)
{
    const int64_t *value = cp->host->translate(cp->host->ctx, value_va, sizeof *value, 0);
    if (!cp->stores || !value)
        return false;
    pthread_mutex_lock(&cp->stores->lock);
    const struct rp_store_time *slot = rp_store_time_of(cp->stores, value_va);
    bool known = slot && slot->value == __atomic_load_n(value, __ATOMIC_RELAXED);
    if (known)
        *ret_ticks = slot->ticks;
    pthread_mutex_unlock(&cp->stores->lock);
    return known;
}

uint64_t rp_signal_end_ticks(const struct rp_cp *cp, uint64_t value_va)
{
    uint64_t now = rp_clock_now(cp->clock), end = 0;
    if (stored(cp, value_va, &end))
        return end < now ? end : now;
    if (cp->causal && rp_causal_active(cp->causal))
        return now;
    const struct rp_amd_signal *signal =
        rp_signal_at(cp->host, value_va - offsetof(struct rp_amd_signal, value));
    return signal && signal->end_ticks <= now ? signal->end_ticks : 0;
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
