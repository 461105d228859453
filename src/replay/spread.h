/**
 * @file spread.h
 * @brief What runs of the captured kernel itself differ by, and the tolerance that follows: for
 * kernels that add up in an order that varies.
 */
#ifndef RP_REPLAY_SPREAD_H
#define RP_REPLAY_SPREAD_H

#include "replay/numbers.h"

enum {
    RP_SPREAD_TYPES = 4, /**< RP_F32 to RP_F64 */
    RP_SPREAD_TIMES = 4, /**< another kernel may differ by so many times what the captured one does:
                              a few runs do not show the most that there is */
};

/** Taken as numbers of each type. */
struct rp_spread_of_type {
    double abs, rel;          /**< at most */
    double smallest, largest; /**< size of a number that differs, but for 0; 0: there is none */
    uint64_t steps;           /**< between representable numbers, at most */
    bool no_numbers;          /**< NaN, infinite or denormal here and not there */
};

/** Zero-initialise. */
struct rp_spread {
    uint64_t words; /**< of 4 bytes that differ */
    struct rp_spread_of_type types[RP_SPREAD_TYPES];
};

/** @param bytes  a multiple of 8; got and expected begin at the same offset of a region, likewise
 */
void rp_spread_note(struct rp_spread *spread, const uint8_t *got, const uint8_t *expected,
                    size_t bytes);

/**
 * The type whose tolerance leaves the fewest values that would be right.
 * @return whether there is such a rule: what differs is near, as numbers of some type
 */
bool rp_spread_rule(const struct rp_spread *spread, struct rp_compare_rule *ret);

#endif
