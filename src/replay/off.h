/**
 * @file off.h
 * @brief How far a wrong result is off, if it is one of numbers: a hint at a tolerance.
 */
#ifndef RP_REPLAY_OFF_H
#define RP_REPLAY_OFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/numbers.h"

/** What differs by more is no rounding of a few operations. */
enum { RP_OFF_MOST_STEPS = 64 };

/** Zero-initialise. */
struct rp_off {
    uint64_t words; /**< of 4 bytes that differ */
    bool odd;       /**< one of them is the upper half of 8 bytes */
    bool far[2];    /**< as fp32, fp64: further than that, or no numbers */
    uint64_t steps[2];
};

/** Notes what differs. @param bytes  a multiple of 8 */
void rp_off_note(struct rp_off *off, const uint8_t *got, const uint8_t *expected, size_t bytes);

/** @return whether all that differs is near, as numbers of *ret_type, and how many steps at most */
bool rp_off_is_near(const struct rp_off *off, enum rp_number_type *ret_type, uint64_t *ret_steps);

#endif
