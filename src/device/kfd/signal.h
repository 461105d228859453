/**
 * @file signal.h
 * @brief Stores to HSA signals the way the hardware makes them.
 */
#ifndef RP_DEVICE_KFD_SIGNAL_H
#define RP_DEVICE_KFD_SIGNAL_H

#include <stddef.h>

#include "packet.h"

/** The last store to an address by the device, or by the host if it is seen (seen.h). */
struct rp_store_time {
    uint64_t va, ticks; /**< va 0 = empty */
    int64_t value;      /**< what it left; when something else is there, the times say nothing */
    uint32_t looks;     /**< of the host, since, that did not tell it of the end (seen.h) */
    int64_t host_ns;    /**< CLOCK_MONOTONIC when it was stored */
};

/**
 * When what signals hold was stored. The DMA engines complete a signal with a bare atomic, and the
 * host stores without any time, so the signal itself does not say when; a packet that waits for it
 * must not start before. A hash table that grows, so that modelled time does not depend on which
 * addresses share a slot. After rp_store_times_init; not initialised = NULL in rp_cp.
 */
struct rp_store_times {
    pthread_mutex_t lock; /**< a leaf: nothing else is taken under it */
    struct rp_store_time *slots;
    size_t count, capacity; /**< capacity is a power of two, at most half of it used */
};

void rp_store_times_init(struct rp_store_times *times);
void rp_store_times_release(struct rp_store_times *times);

/** The signal at @p va in this process, or NULL if it is not mapped for writing. */
struct rp_amd_signal *rp_signal_at(const struct rp_exec_host *host, uint64_t va);

/**
 * End of a packet: timestamps, then the value goes down by one, then mailbox and event.
 * @return 0, or -EFAULT when the signal is not mapped; va 0 = no signal, 0
 */
int rp_signal_complete(const struct rp_cp *cp, uint64_t va, uint64_t start_ticks,
                       uint64_t end_ticks);

/** Stores @p value (queue errors) and wakes the waiters. 0 or -EFAULT. */
int rp_signal_store(const struct rp_cp *cp, uint64_t va, int64_t value);

/** With the lock held: the entry of an address, or NULL. It is valid until the lock is given. */
struct rp_store_time *rp_store_time_of(struct rp_store_times *times, uint64_t va);

/** With the lock held: the same, made if there is none; NULL without memory. */
struct rp_store_time *rp_store_time_make(struct rp_store_times *times, uint64_t va);

/**
 * Around a DMA engine's store at device time @p ticks to the eight bytes that @p va is in: before
 * the first nobody sees the store, after the second its time is known to who does.
 */
void rp_signal_store_begin(const struct rp_cp *cp);
void rp_signal_store_end(const struct rp_cp *cp, uint64_t va, const void *at, uint64_t ticks);

/**
 * When the value at @p value_va (of a signal, if it is one) got what it holds, never later than
 * now. Not known (neither the device wrote it nor the host by a function that is seen): now, or
 * with @p cp->causal not active the end that the signal carries, or 0.
 */
uint64_t rp_signal_end_ticks(const struct rp_cp *cp, uint64_t value_va);

/** s_sendmsg: wakes the event whose low bits are in @p m0. */
void rp_signal_interrupt(struct rp_events *events, uint32_t m0);

#endif
