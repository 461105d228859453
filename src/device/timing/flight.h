/**
 * @file flight.h
 * @brief Memory instructions of a wave whose results are under way: what s_waitcnt waits for.
 */
#ifndef RP_DEVICE_TIMING_FLIGHT_H
#define RP_DEVICE_TIMING_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    RP_FLIGHT_ROOM = 64, /**< a power of two */
    RP_FLIGHT_VM = 63,   /**< CDNA3 ISA guide, s_waitcnt: vmcnt has 6 bits, */
    RP_FLIGHT_LGKM = 15, /**< lgkmcnt 4; an instruction that would go beyond waits */
};

/** Those that a counter counts, by the time when they are done. */
struct rp_flight {
    uint64_t done[RP_FLIGHT_ROOM];
    uint32_t first, count;
    uint64_t last; /**< of those that return in order */
};

static inline void rp_flight_clear(struct rp_flight *f)
{
    f->first = f->count = 0;
    f->last = 0;
}

/** Forgets those that are done. */
static inline void rp_flight_pass(struct rp_flight *f, uint64_t clock)
{
    while (f->count && f->done[f->first] <= clock) {
        f->first = (f->first + 1) % RP_FLIGHT_ROOM;
        f->count--;
    }
    if (!f->count) /* where the host's cache has it */
        f->first = 0;
}

/** One more, when there are fewer than RP_FLIGHT_ROOM. */
static inline void rp_flight_add(struct rp_flight *f, uint64_t done, bool in_order)
{
    uint32_t at = f->count++;
    if (in_order)
        done = f->last = done > f->last ? done : f->last;
    for (; at; at--) { /* one that returns out of order may overtake */
        const uint64_t before = f->done[(f->first + at - 1) % RP_FLIGHT_ROOM];
        if (before <= done)
            break;
        f->done[(f->first + at) % RP_FLIGHT_ROOM] = before;
    }
    f->done[(f->first + at) % RP_FLIGHT_ROOM] = done;
}

/** When at most @p left are under way; 0: now. */
static inline uint64_t rp_flight_left(const struct rp_flight *f, uint32_t left)
{
    return f->count > left ? f->done[(f->first + f->count - left - 1) % RP_FLIGHT_ROOM] : 0;
}

#endif
