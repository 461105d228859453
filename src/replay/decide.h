/**
 * @file decide.h
 * @brief Which of two kernels is faster: paired blocks, an exact test, a margin, and "undecided".
 *
 * A block is one ABBA or BAAB of runs, and counts as one observation: the logarithm of the ratio of
 * its medians (A / B, above 0: B is faster). Drift that is linear within a block cancels; runs of a
 * block may depend on each other as they like. Blocks are taken to be independent and as likely to
 * be off in one direction as in the other.
 */
#ifndef RP_REPLAY_DECIDE_H
#define RP_REPLAY_DECIDE_H

#include <stdbool.h>
#include <stddef.h>

struct rp_err;

enum rp_decision {
    RP_UNDECIDED = 0,
    RP_FASTER, /**< B, by more than the margin, and than A differs from itself */
    RP_SLOWER, /**< likewise */
    RP_EQUAL,  /**< within the margin */
};

struct rp_decide_rule {
    double margin;  /**< 0.01: ratios from 1 / 1.01 to 1.01 are equal */
    double noise;   /**< what faster and slower must be beyond, if it is more than the margin */
    double alpha;   /**< of each false verdict, over all looks together */
    unsigned looks; /**< how often data are looked at, at most */
};

struct rp_decided {
    enum rp_decision decision;
    double ratio;     /**< time of A / time of B: Hodges-Lehmann estimate */
    double low, high; /**< confidence interval, of level 1 - 2 * alpha / looks at least */
    double level;     /**< what that is, exactly; 0: too few blocks for one, low and high are 0 and
                           infinite */
};

/** Logarithm of the ratio of medians. @return 0; RP_BAD_INPUT: a time is not above 0 */
int rp_decide_block(const double *a_us, const double *b_us, size_t runs_each, double *ret_log_ratio,
                    struct rp_err *err);

/** @param blocks  at least one, at most RP_DECIDE_MOST_BLOCKS */
int rp_decide(const double *log_ratios, size_t blocks, const struct rp_decide_rule *rule,
              struct rp_decided *ret, struct rp_err *err);

/**
 * What a session in which A ran against itself says of others.
 * @param ret_noise  by how much two equal kernels were found to differ
 * @return false: A is not as fast as itself, so nothing can be told
 */
bool rp_decide_steady(const struct rp_decided *same, double *ret_noise);

enum rp_gate {
    RP_GATE_NONE = 0,
    RP_GATE_FASTER,
    RP_GATE_NOT_SLOWER, /**< also where it is undecided whether B is faster or equal */
};

enum rp_gate_result { RP_GATE_PASSED = 0, RP_GATE_FAILED, RP_GATE_OPEN };

/** @param margin  of the rule */
enum rp_gate_result rp_decide_gate(const struct rp_decided *d, double margin, enum rp_gate gate);

/** Probability of a signed-rank sum of at most w among n pairs without a difference. */
double rp_signed_rank_below(size_t n, size_t w);

enum { RP_DECIDE_MOST_BLOCKS = 200 };

#endif
