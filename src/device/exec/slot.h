/**
 * @file slot.h
 * @brief Room for resident workgroups, reused from one to the next, and by later dispatches.
 */
#ifndef RP_DEVICE_EXEC_SLOT_H
#define RP_DEVICE_EXEC_SLOT_H

#include "dispatch.h"

/** A slot for a workgroup of @p d, or NULL when the host is out of memory. */
struct rp_resident_group *rp_resident_group_take(struct rp_dispatch *d);

/** Gives a slot back to the process, for any dispatch. Accepts NULL. */
void rp_resident_group_give(struct rp_resident_group *slot);

/**
 * Sets up workgroup @p linear_id in @p slot with all its waves at the kernel's entry.
 * @param past_cycles  of waves that have ended before, for its clock
 */
void rp_resident_group_start(struct rp_dispatch *d, struct rp_resident_group *slot,
                             uint64_t linear_id, uint64_t past_cycles);

#endif
