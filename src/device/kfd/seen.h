/**
 * @file seen.h
 * @brief What the host learns from signals, and so when in modelled time it submits (causal.h).
 *
 * A thread that waits for a signal knows of its end when the wait returns. A thread that only looks
 * at a signal is told what it would see at the modelled time that the host has come to: that the
 * work is not over yet, until something that ended later has been waited for. How far the device
 * has really come, which depends on the machine's load, does not show. So a runtime that leaves out
 * a dependency because the work is over does so in every run or in none. A program that does
 * nothing but look again and again is told the truth at the 64th look; that is its wait. So is one
 * that looks when the work has been over for half a second by the host's clock.
 *
 * Callbacks are told of everything, and the host knows nothing by that (callbacks.h).
 */
#ifndef RP_DEVICE_KFD_SEEN_H
#define RP_DEVICE_KFD_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"

/** A thread looked at a signal, which holds @p value. Returns what it is told. */
int64_t rp_seen_look(struct rp_device *device, uint64_t signal, int64_t value);

/** A thread waited for a signal to hold @p value, or to hold none that the condition excludes. */
void rp_seen_wait(struct rp_device *device, uint64_t signal, int condition, int64_t value);

/** A thread is about to store @p value. */
void rp_seen_store(struct rp_device *device, uint64_t signal, int64_t value);

/** The end that the signal's value stands for, if it is known to be that of work of the device. */
bool rp_seen_end(struct rp_device *device, uint64_t signal, uint64_t *ret_ticks);

/** All of the host knows. */
void rp_seen_learn(struct rp_device *device, uint64_t ticks);

/** From here to the end this thread is in a callback that came because of an end at @p ticks. */
struct rp_seen_callback {
    bool inside;
    uint64_t known;
};
struct rp_seen_callback rp_seen_callback_begin(uint64_t ticks);
void rp_seen_callback_end(struct rp_seen_callback before);
bool rp_seen_inside_callback(void);

#endif
