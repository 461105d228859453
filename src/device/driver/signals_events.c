/* Signals and KFD events: how they are set, when in modelled time, and how host threads wait for
 * them.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "device/driver/command_processor.h"
#include "device/isa/wave_state.h"

static uint32_t bell_count, bell_waiters;

uint32_t rp_host_wakeups(void)
{
    return __atomic_load_n(&bell_count, __ATOMIC_SEQ_CST);
}

void rp_host_wake(void)
{
    __atomic_add_fetch(&bell_count, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&bell_waiters, __ATOMIC_SEQ_CST) == 0)
        return;
    int error = errno;
    syscall(SYS_futex, &bell_count, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = error;
}

void rp_host_sleep(uint32_t seen, uint64_t ns)
{
    struct timespec limit = {.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
    int error = errno;
    __atomic_add_fetch(&bell_waiters, 1, __ATOMIC_SEQ_CST);
    /* The kernel compares with seen again: a ring between the two is not lost. */
    syscall(SYS_futex, &bell_count, FUTEX_WAIT_PRIVATE, seen, &limit, NULL, 0);
    __atomic_sub_fetch(&bell_waiters, 1, __ATOMIC_SEQ_CST);
    errno = error;
}

/* A call that waits for packets which are held would wait for ever: none does, as far as is known,
 * and this is what one would lose. A call that makes a queue takes long on a busy machine. */
#define HOLD_NS 10000000000ll

void rp_happens_before_add(struct rp_happens_before *causal, struct rp_happens_before_queue *line,
                           const uint64_t *written, uint64_t read)
{
    pthread_mutex_lock(&causal->lock);
    *line = (struct rp_happens_before_queue){
        .written = written, .stamped = read, .next = causal->lines};
    causal->lines = line;
    pthread_mutex_unlock(&causal->lock);
}

void rp_happens_before_remove(struct rp_happens_before *causal,
                              struct rp_happens_before_queue *line)
{
    pthread_mutex_lock(&causal->lock);
    for (struct rp_happens_before_queue **at = &causal->lines; *at; at = &(*at)->next)
        if (*at == line) {
            *at = line->next;
            break;
        }
    pthread_mutex_unlock(&causal->lock);
    free(line->stamps);
    *line = (struct rp_happens_before_queue){0};
}

/**
 * Makes room for a stamp. Without memory it returns false, and the packets get the next stamp,
 * which is no earlier.
 */
static bool make_room(struct rp_happens_before_queue *line)
{
    if (line->first > 0 &&
        line->first >= line->count - line->first) { /* Most are used up, so these are freed. */
        line->count -= line->first;
        memmove(line->stamps, line->stamps + line->first, line->count * sizeof *line->stamps);
        line->first = 0;
    }
    if (line->count < line->capacity)
        return true;
    size_t capacity = line->capacity ? line->capacity * 2 : 16;
    struct rp_happens_before_stamp *stamps = realloc(line->stamps, capacity * sizeof *stamps);
    if (!stamps)
        return false;
    line->stamps = stamps;
    line->capacity = capacity;
    return true;
}

/** Everything in the queues that has no stamp was submitted at @p ticks. */
static void stamp_all(struct rp_happens_before *causal, uint64_t ticks)
{
    for (struct rp_happens_before_queue *line = causal->lines; line; line = line->next) {
        uint64_t written = __atomic_load_n(line->written, __ATOMIC_ACQUIRE);
        if (written <= line->stamped || !make_room(line))
            continue;
        line->stamps[line->count++] = (struct rp_happens_before_stamp){written, ticks};
        line->stamped = written;
    }
}

bool rp_happens_before_learn(struct rp_happens_before *causal, uint64_t ticks)
{
    pthread_mutex_lock(&causal->lock);
    bool news = ticks > causal->known;
    if (news) {
        if (causal->open == 0)
            stamp_all(causal, causal->known);
        __atomic_store_n(&causal->known, ticks, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&causal->lock);
    return news;
}

void rp_happens_before_open(struct rp_happens_before *causal)
{
    pthread_mutex_lock(&causal->lock);
    if (causal->open++ == 0) {
        stamp_all(causal, causal->known);
        causal->floor = 0;
        causal->opened_ns = rp_now_ns();
    }
    pthread_mutex_unlock(&causal->lock);
}

void rp_happens_before_close(struct rp_happens_before *causal, uint64_t floor_ticks)
{
    pthread_mutex_lock(&causal->lock);
    if (floor_ticks > causal->floor)
        causal->floor = floor_ticks;
    if (--causal->open == 0)
        stamp_all(causal, causal->floor > causal->known ? causal->floor : causal->known);
    pthread_mutex_unlock(&causal->lock);
}

void rp_happens_before_spend(struct rp_happens_before *causal, uint64_t ticks)
{
    pthread_mutex_lock(&causal->lock);
    if (causal->open == 0)
        stamp_all(causal, causal->known);
    __atomic_store_n(&causal->known, causal->known + ticks, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&causal->lock);
}

bool rp_happens_before_submitted(struct rp_happens_before *causal,
                                 struct rp_happens_before_queue *line, uint64_t index,
                                 uint64_t *ret_ticks)
{
    pthread_mutex_lock(&causal->lock);
    while (line->first < line->count && line->stamps[line->first].index <= index)
        line->first++;
    bool stamped = line->first < line->count;
    bool held = !stamped && causal->open > 0 && causal->hold_nothing == 0 &&
                rp_now_ns() - causal->opened_ns < HOLD_NS;
    if (!held)
        *ret_ticks = stamped ? line->stamps[line->first].ticks : causal->known;
    pthread_mutex_unlock(&causal->lock);
    return !held;
}

void rp_events_init(struct rp_events *events)
{
    memset(events, 0, sizeof *events);
    pthread_mutex_init(&events->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&events->changed, &attr);
    pthread_condattr_destroy(&attr);
}

static struct rp_event *lookup(struct rp_events *events, uint32_t id)
{
    if (id == 0 || id >= RP_KFD_EVENT_LIMIT || !events->slots[id].used)
        return NULL;
    return &events->slots[id];
}

int rp_events_create(struct rp_events *events, uint32_t type, bool auto_reset, uint32_t *ret_id)
{
    if (type >= RP_KFD_EVENT_TYPE_MAX)
        return -EINVAL;
    int rc = -ENOSPC;
    pthread_mutex_lock(&events->lock);
    for (uint32_t id = 1; id < RP_KFD_EVENT_LIMIT; id++) {
        if (events->slots[id].used)
            continue;
        events->slots[id] =
            (struct rp_event){.used = true, .auto_reset = auto_reset, .type = type, .age = 1};
        *ret_id = id;
        rc = 0;
        break;
    }
    pthread_mutex_unlock(&events->lock);
    return rc;
}

static void raise_locked(struct rp_event *event)
{
    event->signaled = true;
    event->age++;
}

int rp_events_change(struct rp_events *events, uint32_t id, enum rp_event_change change)
{
    pthread_mutex_lock(&events->lock);
    struct rp_event *event = lookup(events, id);
    if (event && change == RP_EVENT_SET)
        raise_locked(event);
    else if (event && change == RP_EVENT_RESET)
        event->signaled = false;
    else if (event)
        event->used = false;
    /* A thread that waits for a destroyed event must give up. */
    if (event && change != RP_EVENT_RESET)
        pthread_cond_broadcast(&events->changed);
    pthread_mutex_unlock(&events->lock);
    return event ? 0 : -EINVAL;
}

unsigned rp_events_memory_fault(struct rp_events *events,
                                const struct rp_kfd_memory_exception *what)
{
    unsigned count = 0;
    pthread_mutex_lock(&events->lock);
    for (uint32_t id = 1; id < RP_KFD_EVENT_LIMIT; id++) {
        struct rp_event *event = &events->slots[id];
        if (!event->used || event->type != RP_KFD_EVENT_MEMORY)
            continue;
        event->memory = *what;
        raise_locked(event);
        count++;
    }
    if (count)
        pthread_cond_broadcast(&events->changed);
    pthread_mutex_unlock(&events->lock);
    return count;
}

static bool carries_age(const struct rp_event *event)
{
    return event->type == RP_KFD_EVENT_SIGNAL || event->type == RP_KFD_EVENT_DEBUG;
}

static bool fired(const struct rp_event *event, const struct rp_kfd_event_data *data)
{
    return event->signaled ||
           (carries_age(event) && data->last_age != 0 && data->last_age != event->age);
}

static void consume(struct rp_event *event, struct rp_kfd_event_data *data)
{
    if (event->auto_reset)
        event->signaled = false;
    if (carries_age(event)) {
        if (data->last_age != 0)
            data->last_age = event->age;
    } else if (event->type == RP_KFD_EVENT_MEMORY) {
        data->memory = event->memory;
    }
}

/** Looks once at all events. @return -EINVAL for an unknown one, else how many fired */
static int count_fired(struct rp_events *events, const struct rp_kfd_event_data *data,
                       uint32_t count)
{
    int total = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct rp_event *event = lookup(events, data[i].event_id);
        if (!event)
            return -EINVAL;
        total += fired(event, &data[i]);
    }
    return total;
}

static void consume_fired(struct rp_events *events, struct rp_kfd_event_data *data, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct rp_event *event = lookup(events, data[i].event_id);
        if (event && fired(event, &data[i]))
            consume(event, &data[i]);
    }
}

static struct timespec deadline_after(uint32_t timeout_ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += timeout_ms / 1000;
    at.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

/**
 * This is the loop of the wait; the caller holds the lock.
 * @return -EINVAL or enum rp_kfd_wait_result
 */
static int wait_locked(struct rp_events *events, struct rp_kfd_event_data *data, uint32_t count,
                       bool wait_for_all, uint32_t timeout_ms)
{
    struct timespec deadline = deadline_after(timeout_ms);
    bool timed_out = false;
    for (bool first = true;; first = false) {
        int hits = count_fired(events, data, count);
        /* Unknown from the start is the caller's mistake; gone later is a failed wait. */
        if (hits < 0)
            return first ? hits : RP_KFD_WAIT_FAIL;
        if (hits > 0 && (!wait_for_all || (uint32_t)hits == count)) {
            consume_fired(events, data, count);
            return RP_KFD_WAIT_COMPLETE;
        }
        if (timed_out || timeout_ms == 0)
            return RP_KFD_WAIT_TIMEOUT;
        if (timeout_ms == UINT32_MAX)
            pthread_cond_wait(&events->changed, &events->lock);
        else
            timed_out =
                pthread_cond_timedwait(&events->changed, &events->lock, &deadline) == ETIMEDOUT;
    }
}

static void note_server(struct rp_events *events, pid_t tid)
{
    pid_t *free_slot = NULL;
    for (int i = 0; i < RP_EVENT_SERVERS; i++) {
        if (events->servers[i] == tid)
            return;
        if (events->servers[i] == 0 && !free_slot)
            free_slot = &events->servers[i];
    }
    if (free_slot)
        *free_slot = tid;
}

int rp_events_wait(struct rp_events *events, struct rp_kfd_event_data *data, uint32_t count,
                   bool wait_for_all, uint32_t timeout_ms, uint32_t *ret_result)
{
    if (count == 0 || count > RP_KFD_EVENT_LIMIT)
        return -EINVAL;
    struct rp_waiter self = {
        .data = data, .count = count, .wait_for_all = wait_for_all, .tid = rp_gettid()};
    pthread_mutex_lock(&events->lock);
    if (count > 1)
        note_server(events, self.tid);
    self.next = events->waiters;
    events->waiters = &self;
    int rc = wait_locked(events, data, count, wait_for_all, timeout_ms);
    struct rp_waiter **link = &events->waiters;
    while (*link != &self)
        link = &(*link)->next;
    *link = self.next;
    pthread_mutex_unlock(&events->lock);
    if (rc < 0)
        return rc;
    *ret_result = (uint32_t)rc;
    return 0;
}

/** The thread sleeps, and will go on sleeping unless something new happens. */
static bool sleeps(struct rp_events *events, pid_t tid)
{
    for (const struct rp_waiter *w = events->waiters; w; w = w->next) {
        if (w->tid != tid)
            continue;
        int hits = count_fired(events, w->data, w->count);
        return hits == 0 || (hits > 0 && w->wait_for_all && (uint32_t)hits < w->count);
    }
    return false;
}

bool rp_events_quiet(struct rp_events *events)
{
    bool quiet = true;
    pthread_mutex_lock(&events->lock);
    for (int i = 0; quiet && i < RP_EVENT_SERVERS; i++) {
        pid_t tid = events->servers[i];
        if (tid == 0 || tid == rp_gettid() || sleeps(events, tid))
            continue;
        if (syscall(SYS_tgkill, getpid(), tid, 0) < 0 && errno == ESRCH)
            events->servers[i] = 0; /* That thread has ended. */
        else
            quiet = false;
    }
    pthread_mutex_unlock(&events->lock);
    return quiet;
}

/* ---- times of stores ---------------------------------------------------------------------- */

struct rp_store_time *rp_store_time_of(struct rp_store_times *times, uint64_t va, bool make)
{
    if (va == 0 || (make && rp_vec_reserve(&times->stores, 1) < 0))
        return NULL;
    const uint32_t at =
        make ? rp_idmap_add(&times->addresses, va) : rp_idmap_find(&times->addresses, va);
    if (at == times->stores.count && make) /* The entry is new. */
        return rp_vec_add(&times->stores);
    return at < times->stores.count ? &times->stores.items[at] : NULL;
}

/** Several packets may count one signal down: it is complete when the latest of them is. */
static void note(struct rp_store_times *times, uint64_t va, int64_t was, int64_t left,
                 uint64_t ticks)
{
    /* Without host memory the order in modelled time suffers, but no result does. */
    struct rp_store_time *slot = times ? rp_store_time_of(times, va, true) : NULL;
    if (!slot)
        return;
    if (slot->value != was || slot->ticks < ticks)
        slot->ticks = ticks;
    slot->value = left;
    slot->host_ns = rp_now_ns();
}

static void store_over(struct rp_store_times *times)
{
    if (times)
        pthread_mutex_unlock(&times->lock);
}

void rp_signal_store_end(const struct rp_cp *cp, uint64_t va, const void *at, uint64_t ticks)
{
    const int64_t *word = (const int64_t *)((uintptr_t)at & ~(uintptr_t)7);
    int64_t left = __atomic_load_n(word, __ATOMIC_RELAXED);
    note(cp->stores, va & ~7ull, left + 1, left, ticks);
    store_over(cp->stores);
}

/* ---- signals ------------------------------------------------------------------------------ */

static void notify(const struct rp_cp *cp, const struct rp_amd_signal *signal)
{
    rp_host_wake();
    if (signal->mailbox_va == 0)
        return;
    uint64_t *mailbox = cp->host->translate(cp->host->ctx, signal->mailbox_va, sizeof *mailbox, 1);
    if (mailbox)
        __atomic_store_n(mailbox, signal->event_id, __ATOMIC_RELEASE);
    rp_events_change(cp->events, signal->event_id, RP_EVENT_SET);
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

/** Returns the entry of the value, if the value has not changed since. */
static bool stored(const struct rp_cp *cp, uint64_t value_va, uint64_t *ret_ticks)
{
    const int64_t *value = cp->host->translate(cp->host->ctx, value_va, sizeof *value, 0);
    if (!cp->stores || !value)
        return false;
    pthread_mutex_lock(&cp->stores->lock);
    const struct rp_store_time *slot = rp_store_time_of(cp->stores, value_va, false);
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
    if (cp->causal && rp_happens_before_is_active(cp->causal))
        return now;
    const struct rp_amd_signal *signal =
        rp_signal_at(cp->host, value_va - offsetof(struct rp_amd_signal, value));
    return signal && signal->end_ticks <= now ? signal->end_ticks : 0;
}

void rp_signal_interrupt(struct rp_events *events, uint32_t m0)
{
    /* The message has the low 8 bits of the event id, because the device library masks them; the
     * driver looks the full id up in the event page. Setting every candidate causes a spurious
     * wake at worst, as waiters read their signal's value.
     */
    uint32_t low = m0 & 0xff;
    for (uint32_t id = low ? low : 256; id < RP_KFD_EVENT_LIMIT; id += 256)
        rp_events_change(events, id, RP_EVENT_SET);
}
