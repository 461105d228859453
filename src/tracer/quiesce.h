/**
 * @file quiesce.h
 * @brief What must hold still while a snapshot is taken goes through here: packets, copies,
 *        allocations. Open and free of charge when nothing is to be captured.
 */
#ifndef RP_TRACER_QUIESCE_H
#define RP_TRACER_QUIESCE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/hsa_abi.h"

struct rp_tool;

struct rp_pause {
    uint32_t in_use;  /**< atomic: a snapshot may come */
    uint32_t waiting; /**< atomic: threads that wait to enter */
    pthread_rwlock_t lock;
};

void rp_pause_init(struct rp_pause *gate, bool in_use);

/** Waits while a snapshot is taken. @return what rp_pause_leave takes */
bool rp_pause_enter(struct rp_pause *gate);
void rp_pause_leave(struct rp_pause *gate, bool entered);

/**
 * Closes the gate for the snapshot and waits until no thread is within.
 * @return false: a thread did not leave in time
 */
bool rp_pause_begin(struct rp_pause *gate, int64_t patience_ms);
void rp_pause_end(struct rp_pause *gate);
/** Takes a lock that the snapshot holds: who waits for it is held up as one at the gate is. */
void rp_pause_lock(struct rp_pause *gate, pthread_mutex_t *lock);
/** While it is closed: whether somebody is held up. */
bool rp_pause_holds_up_others(const struct rp_pause *gate);

/** No snapshot will come any more. */
void rp_pause_retire(struct rp_pause *gate);

/* Several operations share the completion signal of these asynchronous copies. HIP copies an area
 * with odd pitches row by row, all with one signal that starts at the number of rows. Such a
 * signal has no times of its own to be recorded, but its value says when all of them are over.
 * They are followed only where a dispatch is to be captured.
 */

struct rp_shared_copy {
    rp_hsa_signal signal;
    int64_t end;  /**< its value when all that share it are over, or below */
    bool unknown; /**< the program has changed the value while they ran */
};

struct rp_shared_copies {
    pthread_mutex_t lock;
    struct rp_shared_copy *entries;
    size_t count; /**< atomic */
    size_t capacity;
};

void rp_shared_copies_init(struct rp_shared_copies *copies);

/**
 * Adds one more copy before it is handed over.
 * @param pending  operations with this signal that are followed elsewhere and have not ended
 * @return false: no memory to follow it
 */
bool rp_shared_copies_add(struct rp_tool *tool, rp_hsa_signal signal, unsigned pending);
/** The runtime refused the copy that was added last with this signal. */
void rp_shared_copies_withdraw(struct rp_tool *tool, rp_hsa_signal signal);

/** The program is about to change the value. @param anew  whatever it was before, or to destroy the
 * signal, which must not be looked at afterwards */
void rp_shared_copies_before_change(struct rp_tool *tool, rp_hsa_signal signal, bool anew);

/** Tests whether all of them are over. */
bool rp_shared_copies_are_over(struct rp_tool *tool);

#endif
