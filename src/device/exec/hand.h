/**
 * @file hand.h
 * @brief A thread's own part of a dispatch.
 */
#ifndef RP_DEVICE_EXEC_HAND_H
#define RP_DEVICE_EXEC_HAND_H

#include "dispatch.h"

/** NULL when the host is out of memory. */
struct rp_hand *rp_hand_new(struct rp_dispatch *d);

/** Accepts NULL. */
void rp_hand_free(struct rp_hand *h);

#endif
