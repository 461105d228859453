/**
 * @file hand.h
 * @brief A thread's own part of a dispatch.
 */
#ifndef RP_DEVICE_EXEC_HAND_H
#define RP_DEVICE_EXEC_HAND_H

#include "dispatch.h"

/** NULL when the host is out of memory. */
struct rp_hand *rp_hand_new(struct rp_dispatch *d);

/**
 * Around everything that uses host addresses from h->mem; short, for rp_exec_settle waits. No
 * barrier between the store and the look at the generation: it would wait for all of a kernel's
 * stores, hundreds of nanoseconds. rp_exec_settle makes every thread execute one instead.
 */
static inline void rp_hand_enter(struct rp_hand *h)
{
    __atomic_store_n(&h->turns, h->turns + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    rp_mem_refresh(&h->mem);
}

static inline void rp_hand_leave(struct rp_hand *h)
{
    __atomic_store_n(&h->turns, h->turns + 1, __ATOMIC_RELEASE);
}

/** Accepts NULL. */
void rp_hand_free(struct rp_hand *h);

#endif
