/**
 * @file signal.h
 * @brief Stores to HSA signals the way the hardware makes them.
 */
#ifndef RP_DEVICE_KFD_SIGNAL_H
#define RP_DEVICE_KFD_SIGNAL_H

#include <stddef.h>

#include "packet.h"

struct rp_store_time {
    uint64_t va, ticks; /**< va 0 = empty */
};

/**
 * When the DMA engines last stored to an address. They complete a signal with a bare atomic, so
 * the signal itself does not say when; a packet that waits for it must not start before. A hash
 * table that grows, so that modelled time does not depend on which addresses share a slot. Used
 * by the thread that serves the queues, alone. Zeroed = empty.
 */
struct rp_store_times {
    struct rp_store_time *slots;
    size_t count, capacity; /**< capacity is a power of two, at most half of it used */
};

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

/** A DMA engine stores to @p va at device time @p ticks. */
void rp_signal_note_store(const struct rp_cp *cp, uint64_t va, uint64_t ticks);

/**
 * When the value at @p value_va (of a signal, if it is one) got what it holds: 0 when this device
 * did not write it, never later than now.
 */
uint64_t rp_signal_end_ticks(const struct rp_cp *cp, uint64_t value_va);

/** s_sendmsg: wakes the event whose low bits are in @p m0. */
void rp_signal_interrupt(struct rp_events *events, uint32_t m0);

#endif
