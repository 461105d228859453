/**
 * @file library.h
 * @brief The inner loop: a wave, the waves of a workgroup, the workgroups of a slice.
 */
#ifndef RP_DEVICE_EXEC_RUN_H
#define RP_DEVICE_EXEC_RUN_H

#include "dispatch.h"

enum rp_slice_state {
    RP_SLICE_OVER,      /**< used up, or every wave waits, or there is no workgroup left in it */
    RP_SLICE_SUSPENDED, /**< the dispatch is to stop: call again */
    RP_SLICE_TURN,      /**< cannot go on before earlier slices have retired: call again then */
    RP_SLICE_FAULT,     /**< lane->fault says why */
};

/**
 * Executes the slice of @p lane: its workgroup's waves in turn, and then its further workgroups.
 * The hand's counts, totals, order and log are those of the slice.
 */
enum rp_slice_state rp_slice_run(struct rp_hand *h, struct rp_lane *lane);

#endif
