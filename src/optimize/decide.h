/**
 * @file decide.h
 * @brief From measurements to a verdict on a candidate. Rules: docs/optimize.md.
 */
#ifndef RP_OPTIMIZE_DECIDE_H
#define RP_OPTIMIZE_DECIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "rocm-perf/roofline.h"

enum rp_outcome {
#define RP_OUTCOME(id, word) RP_OUTCOME_##id,
#include "optimize/outcomes.def"
#undef RP_OUTCOME
    RP_OUTCOME_COUNT
};
const char *rp_outcome_word(enum rp_outcome outcome);
/** @return RP_OUTCOME_COUNT when there is none of that word */
enum rp_outcome rp_outcome_of(const char *word);

enum rp_comparison_verdict {
    RP_COMPARED_FASTER,
    RP_COMPARED_SLOWER,
    RP_COMPARED_EQUAL,
    RP_COMPARED_UNDECIDED,
    RP_COMPARED_DIFFERENT, /**< its output is another one */
};

/** `rocm-perf replay compare` of one captured dispatch. Ratios are time before / time after. */
struct rp_comparison {
    enum rp_comparison_verdict verdict;
    const char *reason; /**< of different and undecided; NULL */
    bool ratio_known;
    double estimate, low, high;
    double margin;        /**< of the verdict, at least the improvement that was asked for */
    double alpha;         /**< probability of a false verdict at most */
    double before_us;     /**< median; 0 = unknown */
    double after_us;      /**< median; 0 = unknown */
    double written_bytes; /**< by the kernel, found by probing; 0 = unknown */
};

/** A comparison and how much of the kernel's time dispatches of that geometry take. */
struct rp_weighed {
    struct rp_comparison comparison;
    double weight;    /**< any unit */
    const char *name; /**< "grid 1024x1x1 workgroup 256x1x1" */
};

struct rp_decision {
    enum rp_outcome outcome; /**< WRONG, SLOWER, EQUAL, UNDECIDED or FASTER */
    bool ratio_known;
    double ratio, low, high; /**< of all geometries by weight */
    double error;            /**< probability that "faster" is false, at most */
    char reason[400];        /**< one sentence */
};

/**
 * Right with all of them, slower with none, and faster by more than @p least_improvement (0.02)
 * as a whole with the lower bound: FASTER.
 */
void rp_decide(const struct rp_weighed *list, size_t count, double least_improvement,
               struct rp_decision *ret);

/**
 * How many more sessions must say "faster" before the n-th candidate that was measured (1 = the
 * first) is accepted, so that among however many candidates one is accepted falsely with a
 * probability of at most @p alpha: each session is false with @p error at most, k + 1 of them with
 * its power; candidate n may use alpha / (n (n + 1)), which sums up to alpha.
 * @param modelled  times are computed and the same each time: one is enough
 */
unsigned rp_confirmations_needed(size_t candidate, double error, double alpha, bool modelled);

/** What no implementation of the kernel can be faster than. */
struct rp_floor {
    struct rp_quantity write_gbps;    /**< of the nearest cache all units share; results go there */
    struct rp_quantity compute_share; /**< part of the time that the FLOPs need at their ceiling */
    bool same_work;                   /**< the change cannot have saved FLOPs */
};

/**
 * @return true: below the floor, and ret_reason (400 bytes) says why
 */
bool rp_below_floor(const struct rp_floor *floor, const struct rp_weighed *list, size_t count,
                    char ret_reason[400]);

#endif
