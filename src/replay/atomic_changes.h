/**
 * @file atomic_changes.h
 * @brief This header compares what atomics of two kernels did to memory.
 *
 * Atomics may be left out where they add nothing, merged, split, and done in another order, as long
 * as they change the same in the end. One that becomes a load and a store, whose scope shrinks, or
 * that is no longer behind the fence for which others wait, is wrong on a GPU whatever a run gives.
 */
#ifndef RP_REPLAY_ATOMIC_CHANGES_H
#define RP_REPLAY_ATOMIC_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/check_record.h"

struct rp_device_table;

/** Zero-initialise this struct. */
struct rp_updates {
    struct rp_check_update *at;
    size_t count;
    bool incomplete; /**< there are more */
};

/** Takes what the device has noted since the last time. */
void rp_updates_of_run(const struct rp_device_table *device, struct rp_updates *ret);

/** Says that what is at @p from, so many bytes, is called by the addresses from @p to on. */
void rp_updates_move(struct rp_updates *updates, uint64_t from, uint64_t bytes, uint64_t to);

struct rp_update_change {
    uint64_t address;
    const char *why;  /**< such as "is updated by atomics there, and not here" */
    size_t addresses; /**< how many differ; 0: none does */
};

/** Finds what of the base's updates the other one lacks. Both are sorted. */
void rp_updates_compare(struct rp_updates *base, struct rp_updates *other,
                        struct rp_update_change *ret);

#endif
