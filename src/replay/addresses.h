/**
 * @file addresses.h
 * @brief Which values are addresses of captured memory: these stay as they are when memory is
 * changed.
 *
 * A value counts only if it lies in captured memory, and not if it lies between the first and the
 * last of it: that can be terabytes, with pairs of small integers in it (0x00007f02'00007f01).
 *
 * Captured memory lies elsewhere in each capture of a program, so that such a pair can still be an
 * address in one and not in the next. The system chooses among 2^40 bytes (HIP's memory is about as
 * much below: from 0x7dff'00000000; what malloc has: from 0x5555'00000000): the chance of each pair
 * with such an upper half is the captured bytes divided by 2^40, 1 in 16384 with 64 MiB. Only its
 * page, or words of it, stay as they are then.
 */
#ifndef RP_REPLAY_ADDRESSES_H
#define RP_REPLAY_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_replay_range;

struct rp_addresses {
    const struct rp_replay_range *ranges; /**< by address, apart from each other */
    size_t count;
};

/** Whether it points into a range, or to its end: loops have such pointers. */
bool rp_addresses_have(const struct rp_addresses *a, uint64_t value);

/** Any of its values of 8 bytes. */
bool rp_addresses_are_in(const struct rp_addresses *a, const uint8_t *page, size_t bytes);

#endif
