/**
 * @file ab_test.h
 * @brief This header runs two kernels in the place of a captured one: which is faster, if both
 * are right.
 *
 * A and B run in blocks of ABBA or BAAB in one process and one queue, from the same memory. Before
 * that A runs in such blocks against itself: what it differs from itself by is no difference. Where
 * times are modelled and repeat, one short block takes the place of all of these. Every run is
 * checked; how sure a verdict is, is said below.
 */
#ifndef RP_REPLAY_AB_TEST_H
#define RP_REPLAY_AB_TEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/stats.h"
#include "replay/check_runs.h"
#include "replay/input_variation.h"
#include "replay/page_changes.h"
#include "replay/replay_protocol.h"
#include "replay/replay_trial.h"

struct rp_err;

/* Decides which of two kernels is faster from paired blocks, an exact test and a
 * margin, or says "undecided".
 *
 * A block is one ABBA or BAAB of runs and counts as one observation: the logarithm of the ratio of
 * its medians (A / B; above 0, B is faster). Drift that is linear within a block cancels, and runs
 * of a block may depend on each other. The test assumes that blocks are independent and as likely
 * to be off in one direction as in the other.
 */

enum rp_replay_decision {
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
    enum rp_replay_decision decision;
    double ratio;     /**< time of A / time of B: Hodges-Lehmann estimate */
    double low, high; /**< confidence interval, of level 1 - 2 * alpha / looks at least */
    double level;     /**< what that is, exactly; 0: too few blocks for one, low and high are 0 and
                           infinite */
};

/** Returns the logarithm of the ratio of medians. @return 0; RP_BAD_INPUT: a time is not above 0 */
int rp_decide_block(const double *a_us, const double *b_us, size_t runs_each, double *ret_log_ratio,
                    struct rp_err *err);

/** @param blocks  at least one, at most RP_DECIDE_MOST_BLOCKS */
int rp_replay_decide(const double *log_ratios, size_t blocks, const struct rp_decide_rule *rule,
                     struct rp_decided *ret, struct rp_err *err);

/**
 * Decides for times of which only the bounds are known: of A and of B, of a level of 1.
 * @param ratio  of the times that are told
 * @return 0; RP_BAD_INPUT: a bound is not above 0
 */
int rp_decide_between(double ratio, const double a_us[2], const double b_us[2],
                      const struct rp_decide_rule *rule, struct rp_decided *ret,
                      struct rp_err *err);

enum rp_held {
    RP_HELD_OPEN = 0, /**< noise: more blocks may tell */
    RP_HELD,          /**< the gain is there with these values, too */
    RP_NOT_HELD,      /**< it is not: below the margin, or less than half of it for all noise */
};

/** These rules decide whether a gain that was found with the captured values holds with others. */
struct rp_held_rule {
    struct rp_decide_rule decide; /**< that it was found by; .looks at these values, too */
    double captured;              /**< ratio of times, above 1 */
    size_t kinds;                 /**< of other values that it must hold with, all of them */
};

/**
 * Decides whether a gain holds with one kind of other values, without proving it again. A kernel
 * that gains nothing with any kind (ratios of 1) passes all kinds with a probability of alpha at
 * most, because each kind gets alpha^(1 / kinds).
 * @param last  look
 * @param ret  as rp_replay_decide
 */
int rp_decide_held(const double *log_ratios, size_t blocks, bool last,
                   const struct rp_held_rule *rule, struct rp_decided *ret, enum rp_held *ret_held,
                   struct rp_err *err);

/**
 * Derives from a session in which A ran against itself how far other sessions can be trusted.
 * @param ret_noise  by how much two equal kernels were found to differ
 * @return false: A is not as fast as itself, so nothing can be concluded
 */
bool rp_decide_steady(const struct rp_decided *same, double *ret_noise);

enum rp_gate_result { RP_GATE_PASSED = 0, RP_GATE_FAILED, RP_GATE_OPEN };

/** @param margin  of the rule */
enum rp_gate_result rp_decide_gate(const struct rp_decided *d, double margin, enum rp_gate gate);

enum { RP_DECIDE_MOST_BLOCKS = RP_SIGNED_RANK_MOST };

enum {
    RP_COMPARE_RUNS = 4,          /**< of each kernel in a block, at most */
    RP_COMPARE_MODELLED_RUNS = 2, /**< of the block that tells whether modelled times repeat */
    RP_COMPARE_FIRST_BLOCKS = 10, /**< until data are looked at; then whenever they have doubled */
};

/** This is the probability of a false verdict in each direction: faster, slower, equal. */
#define RP_COMPARE_ALPHA 0.01

enum { RP_COMPARE_WRONG_TEXT = 240 };

struct rp_compare_block {
    bool turned;                   /**< BAAB */
    double us[2][RP_COMPARE_RUNS]; /**< .runs of each, in their order */
};

struct rp_compare_kernel {
    unsigned long checked_runs, wrong_runs;
    struct rp_replay_outcome outcome; /**< of the first wrong run, or the last */
    struct rp_replay_outcome varied;  /**< with other inputs */
    double between_us[2]; /**< with counts timing: minimum and maximum of the bounds of its timed
                             runs; 0s: there are none */
};

struct rp_replay_comparison {
    struct rp_replay_trial trial;
    struct rp_variation_runs varied;
    struct rp_compare_kernel kernels[2];
    struct rp_compare_block *same, *blocks; /**< of A and A, A and B */
    size_t same_count, block_count, most_blocks;
    unsigned runs; /**< of each kernel in a block */
    double asked_margin;
    double margin;                           /**< not less than what is asked, and a tick */
    double noise;                            /**< by what A differed from itself */
    struct rp_decided same_decided, decided; /**< no level: not come to that */
    bool steady;                             /**< A is as fast as itself */
    bool settled;   /**< modelled times are the same in each run: one block tells all */
    bool by_bounds; /**< times are from counts: verdicts are where bounds are apart */
    struct rp_decided others[RP_VARIATIONS]; /**< from other inputs, where B is faster; no level:
                                                  not timed */
    bool only_captured;                      /**< with other values in memory it is not */
    bool others_open;                        /**< with some of these noise leaves it open */
    struct rp_replay_outcome late; /**< of all memory after blocks, if it is not right there */
    const char *late_by;           /**< "A", or "A or B"; NULL: it is right */
    struct rp_check_runs checks;   /**< of A and B; .asked is set by the caller */
    bool wrong_varied; /**< with other inputs one does not give what the captured kernel gives */
    char wrong_text[RP_COMPARE_WRONG_TEXT]; /**< what with; or empty */
    bool wrong; /**< one of both does not give the captured memory, or B does to memory
                     what A does not and may not be done */
};

/**
 * Zero-initialise with .trial, .varied, .checks, .most_blocks and .asked_margin set; kernels are
 * loaded.
 * @return 0, also when outputs differ; or the code of what went wrong
 */
int rp_replay_comparison_run(struct rp_replay_comparison *c, struct rp_err *err);

/**
 * Tests whether less than half of what the captured kernel writes can be judged, in which case no
 * gate passes.
 */
static inline bool rp_replay_comparison_is_blind(const struct rp_replay_comparison *c)
{
    return c->trial.blind_bytes > c->trial.written_bytes / 2;
}

struct rp_comparison_words {
    const char *verdict;      /**< "faster", ...: of B */
    const char *undecided_by; /**< "noise", "margin" (a ratio without noise), "unsteady" (A is not
                                 as fast as itself), "blind", "values" (only_captured) or "bounds"
                                 (by_bounds); NULL: it is not undecided */
    const char *reason;       /**< NULL: none is needed */
};

struct rp_comparison_words rp_replay_comparison_words(const struct rp_replay_comparison *c);

#endif
