/**
 * @file callbacks.h
 * @brief The callbacks of signals, which the HSA runtime's own thread makes as soon as they
 * complete.
 *
 * HIP uses them to mark events as complete, and then leaves out dependencies on these events. That
 * must not depend on how busy the machine is. So a callback that nothing waits for is put off until
 * the host knows of that end by a wait, at most a second of the host's time; HIP's own wait for
 * them, in which it yields again and again, makes all that have come. A callback for which the
 * signal is held back (the program's own: hipLaunchHostFunc, hipStreamAddCallback) is made at once,
 * and all of the host knows of that end then: it may hear of it in any way.
 */
#ifndef RP_DEVICE_KFD_CALLBACKS_H
#define RP_DEVICE_KFD_CALLBACKS_H

#include <stdbool.h>
#include <stdint.h>

/** The host knows of ends up to here: callbacks of these are due. */
void rp_callbacks_due(uint64_t known_ticks);

/**
 * Returns when those that are due have been made, or all that have come. One that sleeps for a
 * second, or uses a second of processor time, waits for who waits for it: it is given up, and so is
 * what takes ten seconds.
 */
void rp_callbacks_settle(bool all);

/** This thread does something else than to yield until a callback has been made. */
void rp_callbacks_awake(void);

#endif
