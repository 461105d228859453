/**
 * @file slot.h
 * @brief Room for resident workgroups, reused from one to the next.
 */
#ifndef RP_DEVICE_EXEC_SLOT_H
#define RP_DEVICE_EXEC_SLOT_H

#include "dispatch.h"

/** A free slot, or NULL when the host is out of memory. */
struct rp_slot *rp_slot_take(struct rp_dispatch *d);

/** Gives a slot back; the next taker gets the warmest one. */
void rp_slot_release(struct rp_dispatch *d, struct rp_slot *slot);

/** Sets up workgroup @p linear_id in @p slot with all its waves at the kernel's entry. */
void rp_slot_start_group(struct rp_dispatch *d, struct rp_slot *slot, uint64_t linear_id);

/** Frees all slots of a dispatch. */
void rp_slot_free_all(struct rp_dispatch *d);

#endif
