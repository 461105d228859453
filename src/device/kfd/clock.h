/**
 * @file monotonic_clock.h
 * @brief The device clock: one virtual counter per process, of the rate that the architecture's
 *        timestamps have (rp_arch.timestamp_mhz). Host time never enters it.
 *
 * It moves only when a packet completes (to the packet's end). The runtime's readings move by a
 * tick each, so that ROCr's calibration pairs differ and its ratio stays exactly that of the rates
 * (10 ns per tick at 100 MHz); they do not move the clock itself, because how often ROCr reads
 * depends on the host's time.
 */
#ifndef RP_DEVICE_KFD_CLOCK_H
#define RP_DEVICE_KFD_CLOCK_H

#include <stdint.h>

struct rp_clock {
    uint32_t mhz; /**< ticks per microsecond */
    uint64_t ticks;
    uint64_t sampled; /**< the last reading given out: at or ahead of ticks at that moment */
};

/** ROCr treats a timestamp of 0 as missing: the clock starts one second in. */
static inline void rp_clock_init(struct rp_clock *clock, uint32_t mhz)
{
    *clock = (struct rp_clock){.mhz = mhz, .ticks = mhz * 1000000ull};
}

static inline uint64_t rp_clock_ns(const struct rp_clock *clock, uint64_t ticks)
{
    return ticks * 1000 / clock->mhz; /* whole for 25 and 100 MHz */
}

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
