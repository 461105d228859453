/**
 * @file timeline.h
 * @brief Where each kernel and copy of an execution graph ran: lanes of a timeline.
 */
#ifndef ROCM_PERF_TIMELINE_H
#define ROCM_PERF_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

struct rp_dag_result;
struct rp_err;
struct rp_store;

/** One stream in one queue of one GPU of one process. */
struct rp_timeline_lane {
    uint32_t process;             /**< index into the processes of the graph */
    int64_t agent, queue, stream; /**< -1: not known; copies are in no queue */
};

struct rp_timeline {
    struct rp_timeline_lane *lanes; /**< by process, agent, queue, stream */
    size_t lane_count;
    uint32_t *lane_of_step; /**< per step of the graph */
};

/**
 * @param dag  made of these stores, or of some of them, with steps
 * @param ret  release with rp_timeline_free
 */
int rp_timeline_make(struct rp_store *const *stores, size_t store_count,
                     const struct rp_dag_result *dag, struct rp_timeline *ret, struct rp_err *err);
void rp_timeline_free(struct rp_timeline *timeline);

#endif
