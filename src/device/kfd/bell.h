/**
 * @file bell.h
 * @brief Wakes host threads that wait for the device without spinning.
 *
 * One for the process: the device rings it after every store to a signal, and whoever waits looks
 * at the signal again.
 */
#ifndef RP_DEVICE_KFD_BELL_H
#define RP_DEVICE_KFD_BELL_H

#include <stdint.h>

/** How often the bell has rung (wraps). Read it before looking at what is waited for. */
uint32_t rp_bell_count(void);

/** Something that a thread may wait for has changed. A system call only if one waits. */
void rp_bell_ring(void);

/** Sleeps until the bell has rung since @p seen was read, at most @p ns; may return early. */
void rp_bell_wait(uint32_t seen, uint64_t ns);

#endif
