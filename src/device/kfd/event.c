#include "event.h"

#include <errno.h>
#include <string.h>
#include <time.h>

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

int rp_events_wait(struct rp_events *events, struct rp_kfd_event_data *data, uint32_t count,
                   bool wait_for_all, uint32_t timeout_ms, uint32_t *ret_result)
{
    if (count == 0 || count > RP_KFD_EVENT_LIMIT)
        return -EINVAL;
    struct timespec deadline = deadline_after(timeout_ms);
    bool first = true, timed_out = false;
    int rc = 0;
    uint32_t result;
    pthread_mutex_lock(&events->lock);
    for (;; first = false) {
        int hits = count_fired(events, data, count);
        if (hits < 0) {
            /* Unknown from the start is the caller's mistake; gone later is a failed wait. */
            rc = first ? hits : 0;
            result = RP_KFD_WAIT_FAIL;
            break;
        }
        if (hits > 0 && (!wait_for_all || (uint32_t)hits == count)) {
            consume_fired(events, data, count);
            result = RP_KFD_WAIT_COMPLETE;
            break;
        }
        if (timed_out || timeout_ms == 0) {
            result = RP_KFD_WAIT_TIMEOUT;
            break;
        }
        if (timeout_ms == UINT32_MAX)
            pthread_cond_wait(&events->changed, &events->lock);
        else
            timed_out =
                pthread_cond_timedwait(&events->changed, &events->lock, &deadline) == ETIMEDOUT;
    }
    pthread_mutex_unlock(&events->lock);
    if (rc == 0)
        *ret_result = result;
    return rc;
}
