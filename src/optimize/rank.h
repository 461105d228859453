/**
 * @file rank.h
 * @brief Which kernels are worth a try, and in which order: by what the program could gain.
 */
#ifndef RP_OPTIMIZE_RANK_H
#define RP_OPTIMIZE_RANK_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/roofline.h"

struct rp_err;
struct rp_facts;

/** Below these nothing is tried. */
struct rp_rank_limits {
    double least_weight;   /**< of the critical path: 0.20 */
    double least_headroom; /**< of the kernel's time: 0.10 */
};
struct rp_rank_limits rp_rank_usual_limits(void);

struct rp_rank_entry {
    size_t kernel;               /**< index into the facts */
    struct rp_quantity weight;   /**< of the program's time, 0..1 */
    bool weight_of_kernel_time;  /**< the critical path is not known: of the sum over all kernels */
    struct rp_quantity headroom; /**< of the kernel's time, 0..1 */
    struct rp_quantity priority; /**< weight x headroom; with an unknown headroom, the weight */
    struct rp_quantity bound;    /**< Amdahl: speed-up of the program when the headroom is gone */
    char *stop;                  /**< why it is not tried; NULL: it is */
};

struct rp_rank {
    struct rp_rank_entry *entries; /**< by priority, weight, symbol; what is not tried comes last */
    size_t count;
    size_t tried; /**< of them, at the front */
};

/**
 * @param wanted  for each kernel whether the user has named it, which counts for more than its
 *                weight and headroom; NULL: nothing is named
 * @return 0 or RP_ENVIRONMENT
 */
int rp_rank_kernels(const struct rp_facts *facts, const struct rp_rank_limits *limits,
                    const bool *wanted, struct rp_rank *ret, struct rp_err *err);
void rp_rank_free(struct rp_rank *rank);

#endif
