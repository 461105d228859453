#include "event.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

int rp_events_destroy(struct rp_events *events, uint32_t id)
{
    pthread_mutex_lock(&events->lock);
    struct rp_event *event = lookup(events, id);
    if (event)
        event->used = false;
    pthread_cond_broadcast(&events->changed); /* a waiter on it must give up */
    pthread_mutex_unlock(&events->lock);
    return event ? 0 : -EINVAL;
}

static void raise_locked(struct rp_event *event)
{
    event->signaled = true;
    event->age++;
}

int rp_events_set(struct rp_events *events, uint32_t id)
{
    pthread_mutex_lock(&events->lock);
    struct rp_event *event = lookup(events, id);
    if (event) {
        raise_locked(event);
        pthread_cond_broadcast(&events->changed);
    }
    pthread_mutex_unlock(&events->lock);
    return event ? 0 : -EINVAL;
}

int rp_events_reset(struct rp_events *events, uint32_t id)
{
    pthread_mutex_lock(&events->lock);
    struct rp_event *event = lookup(events, id);
    if (event)
        event->signaled = false;
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

/** One look at all events. Returns -EINVAL for an unknown one, else how many fired. */
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

/** The wait's own loop; the lock is held. Returns -EINVAL or enum rp_kfd_wait_result. */
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
        .data = data, .count = count, .wait_for_all = wait_for_all, .tid = gettid()};
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
        if (tid == 0 || tid == gettid() || sleeps(events, tid))
            continue;
        if (syscall(SYS_tgkill, getpid(), tid, 0) < 0 && errno == ESRCH)
            events->servers[i] = 0; /* it ended */
        else
            quiet = false;
    }
    pthread_mutex_unlock(&events->lock);
    return quiet;
}
