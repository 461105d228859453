/**
 * @file verdict.h
 * @brief From measurements to a verdict on a candidate. Rules: docs/how-it-decides.md.
 */
#ifndef RP_EXPERIMENT_VERDICT_H
#define RP_EXPERIMENT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/roofline.h"

enum rp_outcome {
#define RP_OUTCOME(id, word) RP_OUTCOME_##id,
#include "experiment/outcomes.def"
#undef RP_OUTCOME
    RP_OUTCOME_COUNT
};
const char *rp_outcome_word(enum rp_outcome outcome);
/** @return RP_OUTCOME_COUNT when no outcome has that word */
enum rp_outcome rp_outcome_of(const char *word);

enum rp_comparison_verdict {
    RP_COMPARED_FASTER,
    RP_COMPARED_SLOWER,
    RP_COMPARED_EQUAL,
    RP_COMPARED_UNDECIDED,
    RP_COMPARED_DIFFERENT, /**< its output is another one */
};

/** Says why a comparison is undecided. */
enum rp_undecided_by {
    RP_BY_NOISE,    /**< the interval is too wide, or A and A differ by as much */
    RP_BY_UNSTEADY, /**< A is not as fast as itself: B was not measured at all */
    RP_BY_BLIND,    /**< what the captured dispatch writes tells nothing */
    RP_BY_VALUES,   /**< faster with the captured values only */
    RP_BY_LIMITS,   /**< the comparison itself took more memory than it may */
};

/** This is the result of `rocm-perf replay compare` on one captured dispatch. Ratios are time
 * before / time after. */
struct rp_comparison {
    enum rp_comparison_verdict verdict;
    enum rp_undecided_by undecided_by; /**< of undecided */
    const char *reason;                /**< of different and undecided; NULL */
    bool no_output; /**< different: it does not fit, crashes, or does not end, as the reason says */
    bool ratio_known;
    double estimate, low,
        high;         /**< with the captured values, or with others where it is shown to be less */
    double margin;    /**< of the verdict, at least the improvement that was asked for */
    double noise;     /**< what A differed from itself by: faster is beyond it, too */
    double alpha;     /**< probability of a false verdict at most */
    double before_us; /**< median; 0 = unknown */
    double after_us;  /**< median; 0 = unknown */
    const char *inputs_untried; /**< why it was compared from the captured inputs only; NULL: also
                                     from others, or not known. Of the JSON that it is read from */
    double slowest_other; /**< of ratios with other arguments, the lowest lower bound; 0 = none */
    const char *slowest_inputs; /**< their kind; of the JSON, likewise */
    double written_bytes;       /**< by the kernel, found by probing; 0 = unknown */
};

/** This is a comparison with the share of the kernel's time that dispatches of that geometry take.
 */
struct rp_weighted_comparison {
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
 * FASTER needs right results with all of them, none slower, and a lower bound of the whole that is
 * faster by more than @p least_improvement (0.02).
 */
void rp_decide(const struct rp_weighted_comparison *list, size_t count, double least_improvement,
               struct rp_decision *ret);

/** Says whether the machine was not steady, so that the comparison is worth repeating. */
bool rp_comparison_is_unsteady(const struct rp_comparison *c);

/** @p again was made because @p first was unsteady, and either could have been false, so both
 * count. */
void rp_comparison_repeats(struct rp_comparison *again, const struct rp_comparison *first);

/**
 * Says whether enough sessions have said "faster" for the n-th candidate that was measured (1 = the
 * first). However many candidates there are, one may be accepted falsely with a probability of at
 * most @p alpha: candidate n may use alpha / (n (n + 1)), which sums up to alpha.
 * @param confirmations after the first session
 * @param error product of the probabilities with which each session is false, at most
 * @param modelled times are computed and the same each time: one confirmation is enough
 */
bool rp_is_confirmed(size_t candidate, unsigned confirmations, double error, double alpha,
                     bool modelled);

/** No implementation of the kernel can be faster than this. */
struct rp_time_floor {
    struct rp_quantity write_gbps;    /**< of the nearest cache all units share; results go there */
    struct rp_quantity compute_share; /**< part of the time that the FLOPs need at their ceiling */
    bool same_work;                   /**< the change cannot have saved FLOPs */
};

/**
 * Returns by how much something may get slower where the whole gets faster: as much as the wanted
 * gain, but 2 % at most, because a user who wants more gain does not allow for more harm.
 */
double rp_max_allowed_slowdown(double least_improvement);

/**
 * This is for changes of a whole body. A candidate that was right only from the captured inputs of
 * a geometry may be right for no others; one that is slower with other inputs was made for the
 * captured ones. `faster` becomes `undecided` then.
 */
void rp_decide_by_inputs(const struct rp_weighted_comparison *list, size_t count,
                         struct rp_decision *ret);

/**
 * Another kernel that a change of a body changes as well must be right, from other inputs too, and
 * no slower. Otherwise `faster` becomes what is wrong with it.
 * @param list all of that kernel's geometries
 */
void rp_decide_by_another(const struct rp_weighted_comparison *list, size_t count,
                          const char *kernel, struct rp_decision *ret);

/**
 * @return true: below the floor, and ret_reason (400 bytes) says why
 */
bool rp_below_floor(const struct rp_time_floor *floor, const struct rp_weighted_comparison *list,
                    size_t count, char ret_reason[400]);

/* Tells which of two configurations is faster, as far as a few noisy samples allow. Samples are
 * runtimes in ms above 0, compared by their logarithms, because noise is a share of a runtime. */

struct rp_samples_log {
    size_t count;
    double mean, variance; /**< of the logarithms; variance 0 below two samples */
};

struct rp_samples_log rp_samples_log(const double *samples_ms, size_t count);

/** Measures how much samples of one configuration differ, from all that have two or more. It starts
 * as 0. */
struct rp_noise {
    double squares;
    size_t freedom;
};

void rp_noise_add(struct rp_noise *noise, const struct rp_samples_log *of);

/**
 * Returns the level of each look at a configuration that gets sample after sample from least to
 * most, and is dropped as soon as it is slower. 5 % are spent in equal parts, so that over all
 * looks one that is not slower is dropped in 5 % of races at most.
 */
double rp_race_level(unsigned least, unsigned most);

/**
 * Says whether a is slower than b, by Welch's one-sided test at that level. A single sample is
 * compared by the noise of others, of which enough must be known.
 */
bool rp_race_slower(const struct rp_samples_log *a, const struct rp_samples_log *b,
                    const struct rp_noise *noise, double level);

/** Says whether they differ, by Welch's two-sided test at 1 %. Both have two samples or more. */
bool rp_race_differ(const struct rp_samples_log *a, const struct rp_samples_log *b);

#endif
