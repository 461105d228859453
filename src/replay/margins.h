/**
 * @file margins.h
 * @brief What lies between the captured memory and the ends of its pages.
 *
 * An allocation ends where it ends; a process has pages. What a kernel writes behind an allocation
 * is thus written, harms nobody in the replay, and is wrong.
 */
#ifndef RP_REPLAY_MARGINS_H
#define RP_REPLAY_MARGINS_H

#include <stddef.h>
#include <stdint.h>

#include "replay/replay.h"

/** Less than a page. */
struct rp_margin {
    uint64_t address, bytes;
    bool host;
};

/**
 * @param ranges  whole pages, by address
 * @param memory  in any order; may overlap
 * @param ret     by address; free() it
 */
int rp_margins_find(const struct rp_replay_range *ranges, size_t range_count,
                    const struct rp_capture_memory *memory, size_t memory_count,
                    struct rp_margin **ret, size_t *ret_count, struct rp_err *err);

#endif
