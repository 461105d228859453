/**
 * @file extrapolate.h
 * @brief From a sample of a dispatch's workgroups to all of them.
 */
#ifndef RP_DEVICE_TIMING_EXTRAPOLATE_H
#define RP_DEVICE_TIMING_EXTRAPOLATE_H

#include "engine.h"

/** When the replayed workgroups ended, in order. */
struct rp_completions {
    uint64_t *clock;
    uint64_t count, room; /**< room: as many as can be noted */
};

static inline void rp_completions_note(struct rp_completions *c, uint64_t clock)
{
    if (c->count < c->room)
        c->clock[c->count++] = clock;
}

/**
 * Clocks of the dispatch. With a sample: the replay, and for all other workgroups of the die the
 * rate at which they ended while the die was full, times how much longer they are on average. Of a
 * die that was replayed as a whole: times how much longer those of other dies are, if they are.
 * @param end        of the replay
 * @param resident   workgroups that the die holds
 * @param ret_error  estimate of the relative error: how far the two halves of that time disagree;
 *                   how far waves of other dies are longer or shorter
 */
double rp_extrapolate(const struct rp_wave_record *record, const struct rp_completions *done,
                      uint64_t end, uint64_t resident, double *ret_error);

/** How the dies of which only one is replayed share memory. */
struct rp_sharing {
    uint64_t lines;  /**< that the die touches, private memory left out */
    double share;    /**< of a die's lines, those that another one touches: 0 to 1 */
    double together; /**< of these, those that both touch first at about the same time */
};

/** From what main workgroups and probes touch; all 0 without probes. 0 or -ENOMEM. */
int rp_sharing_of(const struct rp_wave_record *record, uint64_t resident, struct rp_sharing *ret);

#endif
