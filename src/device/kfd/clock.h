/**
 * @file clock.h
 * @brief The device clock: one virtual 100 MHz counter per process. Host time never enters it.
 *
 * It moves only when a packet completes (to the packet's end) and by one tick whenever the
 * runtime reads it, so that ROCr's calibration pairs differ and its ratio stays exactly 10 ns.
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
};

static inline uint64_t rp_clock_now(const struct rp_clock *clock)
{
    return __atomic_load_n(&clock->ticks, __ATOMIC_ACQUIRE);
}

/** Reads the clock the way the driver's counter query does: it moves by one tick. */
static inline uint64_t rp_clock_sample(struct rp_clock *clock)
{
    return __atomic_add_fetch(&clock->ticks, 1, __ATOMIC_ACQ_REL);
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
