/**
 * @file select.h
 * @brief Which dispatches are to be captured (struct rp_snapshot_selection).
 */
#ifndef RP_TOOL_SELECT_H
#define RP_TOOL_SELECT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/hsa_abi.h"
#include "trace/capture_stream.h"

struct rp_tool;
struct rp_seen_geometry;

enum { RP_SELECT_HASHES = 64 };

struct rp_select {
    struct rp_snapshot_selection wish;
    uint64_t *numbers;
    pthread_mutex_t lock;
    uint64_t matches;              /**< under .lock: so far */
    size_t taken;                  /**< under .lock: that were wanted */
    uint32_t over;                 /**< atomic: no more are wanted */
    uint32_t outstanding;          /**< under .lock: wanted, and not done with */
    struct rp_seen_geometry *seen; /**< under .lock; .taken of them */
    struct rp_snapshot_filtered passed[RP_SNAPSHOT_MAX_FILTERED]; /**< under .lock */
    size_t passed_count;                                          /**< atomic */
    uint64_t hashes[RP_SELECT_HASHES]; /**< atomic: of kinds that were passed, 0 = none */
    uint32_t gpu_known;                /**< atomic: .gpu_agent is the one with the wanted number */
    rp_hsa_agent gpu_agent;            /**< atomic; 0: there is none */
};

/** A dispatch that is about to be submitted. */
struct rp_candidate {
    const struct rp_hsa_packet *packet;
    const char *symbol; /**< of its kernel; must stay */
    uint64_t code; /**< tells kernels of one name apart that lie in two code objects, and is the
                        same for one code object on several GPUs */
    rp_hsa_agent agent;
    uint32_t queue_index;
};

/** Takes the numbers over. */
void rp_select_init(struct rp_select *select, const struct rp_snapshot_selection *wish,
                    uint64_t *numbers);

/**
 * Counts a dispatch of a wanted kernel.
 * @param ret_match  its number among those that match, 0: it does not
 * @return whether it is to be captured; then rp_select_done must follow
 */
bool rp_select_take(struct rp_tool *tool, struct rp_select *select,
                    const struct rp_candidate *candidate, uint64_t *ret_match);

/** Of a dispatch that did not match: whether rp_select_pass would say no, at little cost. */
bool rp_select_is_passed(const struct rp_select *select, const struct rp_candidate *candidate);
/** Of a dispatch that did not match: @return whether its like was not seen before. */
bool rp_select_pass(struct rp_tool *tool, struct rp_select *select,
                    const struct rp_candidate *candidate, struct rp_snapshot_filtered *ret);

/** A capture has ended. @return whether it was the last one */
bool rp_select_done(struct rp_select *select);

/** Nobody listens any more. */
void rp_select_give_up(struct rp_select *select);

static inline bool rp_select_is_over(const struct rp_select *select)
{
    return __atomic_load_n(&select->over, __ATOMIC_ACQUIRE) != 0;
}

/** Number of a GPU among all, as the runtime lists them; UINT32_MAX: it is none. */
uint32_t rp_select_gpu(const struct rp_tool *tool, rp_hsa_agent agent);

#endif
