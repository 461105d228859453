/**
 * @file run.h
 * @brief The inner loop: a wave, and the waves of a workgroup.
 */
#ifndef RP_DEVICE_EXEC_RUN_H
#define RP_DEVICE_EXEC_RUN_H

#include "dispatch.h"

enum rp_group_state {
    RP_GROUP_MORE,  /**< slice or budget used up, or every wave asked to wait */
    RP_GROUP_ENDED, /**< all waves executed s_endpgm */
    RP_GROUP_FAULT, /**< rp_dispatch.fault is set */
};

/**
 * Runs waves of @p g in turn until its slice_budget or *budget is used up, or it ends.
 * Both are counted down by the instructions executed. When it returns MORE with slice_budget 0 the
 * workgroup's turn is over.
 */
enum rp_group_state rp_group_run(struct rp_dispatch *d, struct rp_group *g, uint64_t *budget);

#endif
