/**
 * @file unroll_plan.h
 * @brief Which loops of a kernel to unroll, how far, in which order: from what was measured of it.
 */
#ifndef RP_OPTIMIZE_UNROLL_PLAN_H
#define RP_OPTIMIZE_UNROLL_PLAN_H

#include <stddef.h>

struct rp_kernel_facts;
struct rp_kernel_source;

enum { RP_UNROLL_LEAST = 2, RP_UNROLL_MOST = 8 };

struct rp_unroll_step {
    size_t loop; /**< index in the source's loops */
    unsigned factor;
};

/**
 * @param facts  NULL: nothing is known
 * @param ret    loop_count * 7 entries have room
 * @return how many were written
 */
size_t rp_unroll_plan(const struct rp_kernel_source *source, const struct rp_kernel_facts *facts,
                      struct rp_unroll_step *ret);

#endif
