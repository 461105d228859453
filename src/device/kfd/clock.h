/**
 * @file clock.h
 * @brief The device clock: one virtual 100 MHz counter per process. Host time never enters it.
 *
 * It moves only when a packet completes (to the packet's end). The runtime's readings move by a
 * tick each, so that ROCr's calibration pairs differ and its ratio stays exactly 10 ns; they do not
 * move the clock itself, because how often ROCr reads depends on the host's time.
 */
#ifndef RP_DEVICE_KFD_CLOCK_H
#define RP_DEVICE_KFD_CLOCK_H

#include <stdint.h>

enum {
    RP_CLOCK_HZ = 100000000, /* MI300X: constant 100 MHz reference (s_memrealtime, signal times) */
    RP_CLOCK_NS_PER_TICK = 10,
    /* ROCr treats a timestamp of 0 as missing: start one second in. */
    RP_CLOCK_FIRST_TICK = RP_CLOCK_HZ,
};

struct rp_clock {
    uint64_t ticks;
    uint64_t sampled; /**< the last reading given out: at or ahead of ticks at that moment */
};

static inline uint64_t rp_clock_now(const struct rp_clock *clock)
{
    return __atomic_load_n(&clock->ticks, __ATOMIC_ACQUIRE);
}

/** A reading for the driver's counter query: later than every reading before. */
static inline uint64_t rp_clock_sample(struct rp_clock *clock)
{
    uint64_t last = __atomic_load_n(&clock->sampled, __ATOMIC_ACQUIRE), next;
    do {
        uint64_t now = rp_clock_now(clock);
        next = last + 1 > now ? last + 1 : now;
    } while (!__atomic_compare_exchange_n(&clock->sampled, &last, next, 0, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE));
    return next;
}

/** Moves the clock forward to @p ticks; never back. */
static inline void rp_clock_advance(struct rp_clock *clock, uint64_t ticks)
{
    uint64_t now = rp_clock_now(clock);
    while (now < ticks && !__atomic_compare_exchange_n(&clock->ticks, &now, ticks, 0,
                                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
}

#endif
