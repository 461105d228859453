/**
 * @file compare.h
 * @brief Two kernels in the place of a captured one: which is faster, if both are right.
 *
 * A and B run in blocks of ABBA or BAAB in one process and one queue, from the same memory. Before
 * that A runs in such blocks against itself: what it differs from itself by is no difference. Every
 * run is checked; how sure a verdict is, decide.h says.
 */
#ifndef RP_REPLAY_COMPARE_H
#define RP_REPLAY_COMPARE_H

#include "replay/candidate.h"
#include "replay/decide.h"
#include "replay/varied.h"

enum {
    RP_COMPARE_RUNS = 4,          /**< of each kernel in a block */
    RP_COMPARE_FIRST_BLOCKS = 10, /**< until data are looked at; then whenever they have doubled */
};

/** Of false verdicts, each way: faster, slower, equal. */
#define RP_COMPARE_ALPHA 0.01

struct rp_compare_block {
    bool turned;                   /**< BAAB */
    double us[2][RP_COMPARE_RUNS]; /**< in their order */
};

struct rp_compare_kernel {
    unsigned long checked_runs, wrong_runs;
    struct rp_replay_outcome outcome; /**< of the first wrong run, or the last */
    struct rp_replay_outcome varied;  /**< with other inputs */
};

struct rp_replay_comparison {
    struct rp_replay_trial trial;
    struct rp_varied varied;
    struct rp_compare_kernel kernels[2];
    struct rp_compare_block *same, *blocks; /**< of A and A, A and B */
    size_t same_count, block_count, most_blocks;
    double asked_margin;
    double margin;                           /**< not less than what is asked, and a tick */
    double noise;                            /**< by what A differed from itself */
    struct rp_decided same_decided, decided; /**< no level: not come to that */
    bool steady;                             /**< A is as fast as itself */
    struct rp_decided others[RP_VARIATIONS]; /**< from other inputs, where B is faster; no level:
                                                  not timed */
    bool only_captured;                      /**< with other values in memory it is not */
    bool others_open;                        /**< with some of these noise leaves it open */
    struct rp_replay_outcome late; /**< of all memory after blocks, if it is not right there */
    const char *late_by;           /**< "A", or "A or B"; NULL: it is right */
    bool wrong_varied; /**< with other inputs one does not give what the captured kernel gives */
    bool wrong;        /**< one of both does not give the captured memory */
};

/**
 * Zero-initialise with .trial, .varied, .most_blocks and .asked_margin set; kernels are loaded.
 * @return 0, also when outputs differ; or the code of what went wrong
 */
int rp_replay_comparison_run(struct rp_replay_comparison *c, struct rp_err *err);

/** "faster", ...: of B */
const char *rp_replay_comparison_verdict(const struct rp_replay_comparison *c);
/** Less than half of what the captured kernel writes can be told by: no gate passes. */
bool rp_replay_comparison_is_blind(const struct rp_replay_comparison *c);
/** Whether the gain must hold with those, too: values in memory decide what a kernel may skip. What
 * it is given and how often it runs may honestly make another difference. */
bool rp_replay_comparison_demands(enum rp_variation variation);
/** "noise", "unsteady" (A is not as fast as itself), "blind" or "values" (only_captured); NULL: it
 * is not undecided */
const char *rp_replay_comparison_undecided_by(const struct rp_replay_comparison *c);
/** NULL: none is needed */
const char *rp_replay_comparison_reason(const struct rp_replay_comparison *c);

#endif
