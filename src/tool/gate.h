/**
 * @file gate.h
 * @brief What must hold still while a snapshot is taken goes through here: packets, copies,
 *        allocations. Open and free of charge when nothing is to be captured.
 */
#ifndef RP_TOOL_GATE_H
#define RP_TOOL_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct rp_pause {
    uint32_t in_use;  /**< atomic: a snapshot may come */
    uint32_t waiting; /**< atomic: threads that wait to enter */
    pthread_rwlock_t lock;
};

void rp_gate_init(struct rp_pause *gate, bool in_use);

/** Waits while a snapshot is taken. @return what rp_gate_leave takes */
bool rp_gate_enter(struct rp_pause *gate);
void rp_gate_leave(struct rp_pause *gate, bool entered);

/** For the snapshot: nobody is within. @return false: somebody did not leave in time */
bool rp_gate_close(struct rp_pause *gate, int64_t patience_ms);
void rp_gate_open(struct rp_pause *gate);
/** Takes a lock that the snapshot holds: who waits for it is held up as one at the gate is. */
void rp_gate_lock(struct rp_pause *gate, pthread_mutex_t *lock);
/** While it is closed: whether somebody is held up. */
bool rp_gate_is_waited_for(const struct rp_pause *gate);

/** No snapshot will come any more. */
void rp_gate_retire(struct rp_pause *gate);

#endif
