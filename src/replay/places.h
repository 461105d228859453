/**
 * @file places.h
 * @brief Numbers for captured pages that are the same whenever the program is captured again.
 *
 * Its addresses are not: the system lays memory out by chance. What follows from them would make
 * other inputs, and so other times, of each session.
 */
#ifndef RP_REPLAY_PLACES_H
#define RP_REPLAY_PLACES_H

#include <stddef.h>
#include <stdint.h>

struct rp_snapshot_region;

/**
 * One of each region, by the argument that points into it, or else by what it is and the number of
 * regions like it below it that are no argument's either. Pages of it are counted from there, in
 * bytes.
 * @param ret  of @p count; multiples of RP_PAGE_BYTES that are far apart
 */
void rp_replay_places_find(const struct rp_snapshot_region *const *regions, size_t count,
                           const void *kernarg, size_t kernarg_bytes, uint64_t *ret);

#endif
