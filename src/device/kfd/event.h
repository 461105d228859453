/**
 * @file event.h
 * @brief KFD events: what a sleeping host thread waits for and what a completing packet sets.
 *
 * Semantics of the driver: an auto-reset event wakes one wait and clears; a signal event also
 * carries an age, so that a waiter that names the age it has seen never misses a set.
 */
#ifndef RP_DEVICE_KFD_EVENT_H
#define RP_DEVICE_KFD_EVENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi.h"

struct rp_event {
    bool used, auto_reset, signaled;
    uint32_t type; /**< enum rp_kfd_event_type */
    uint64_t age;
    struct rp_kfd_memory_exception memory; /**< of a MEMORY event */
};

/** A wait in progress. */
struct rp_waiter {
    const struct rp_kfd_event_data *data;
    uint32_t count;
    bool wait_for_all;
    pid_t tid;
    struct rp_waiter *next;
};

enum { RP_EVENT_SERVERS = 16 };

struct rp_events {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct rp_waiter *waiters;
    /* Threads that ever waited for several events at once: the runtime's own, which run the
     * callbacks of completed signals between two waits. 0 = free. */
    pid_t servers[RP_EVENT_SERVERS];
    struct rp_event slots[RP_KFD_EVENT_LIMIT]; /**< index = event id; 0 is never given out */
};

void rp_events_init(struct rp_events *events);

/** Returns 0, -EINVAL (type) or -ENOSPC. */
int rp_events_create(struct rp_events *events, uint32_t type, bool auto_reset, uint32_t *ret_id);
int rp_events_destroy(struct rp_events *events, uint32_t id);
int rp_events_set(struct rp_events *events, uint32_t id);
int rp_events_reset(struct rp_events *events, uint32_t id);

/** Reports a memory exception on every MEMORY event; returns how many there were. */
unsigned rp_events_memory_fault(struct rp_events *events,
                                const struct rp_kfd_memory_exception *what);

/**
 * Waits for one (or all) of the events. @p timeout_ms: 0 polls, UINT32_MAX never ends.
 * Writes ages and exception data of the events that fired back into @p data.
 * @return 0 with *ret_result = enum rp_kfd_wait_result, or -EINVAL for an unknown event
 */
int rp_events_wait(struct rp_events *events, struct rp_kfd_event_data *data, uint32_t count,
                   bool wait_for_all, uint32_t timeout_ms, uint32_t *ret_result);

/** True when every server thread but the caller waits, and for nothing that has already fired. */
bool rp_events_quiet(struct rp_events *events);

#endif
