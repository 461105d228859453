/**
 * @file judge.h
 * @brief Real dispatches of a kernel, captured once, and two builds of it compared on each of them:
 *        by children (`rocm-perf isolate`, `rocm-perf replay compare`), so that nothing of a
 *        candidate runs in this process.
 */
#ifndef RP_EXPERIMENT_JUDGE_H
#define RP_EXPERIMENT_JUDGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/roofline.h"
#include "base/sha256.h"
#include "base/vec.h"

struct rp_child_context;
struct rp_err;
struct rp_noise;
struct rp_samples_log;

/* From measurements to a verdict on a candidate. Rules: docs/how-it-decides.md. */

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
    RP_BY_BOUNDS,   /**< times are from counts, and their bounds overlap */
    RP_BY_LIMITS,   /**< the comparison itself took more memory than it may */
};

/** This is the result of `rocm-perf replay compare` on one captured dispatch. Ratios are time
 * before / time after. */
struct rp_comparison {
    enum rp_comparison_verdict verdict;
    enum rp_undecided_by undecided_by; /**< of undecided */
    const char *reason;                /**< of different and undecided; NULL */
    bool unsafe;    /**< different: by what it does to memory, its output is right */
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
    const char *slowest_inputs;        /**< their kind; of the JSON, likewise */
    double written_bytes;              /**< by the kernel, found by probing; 0 = unknown */
    double rounding, rounding_allowed; /**< sums are in another order: the largest difference, and
                                            what it may be; 0 = none */
};

/** This is a comparison with the share of the kernel's time that dispatches of that geometry take.
 */
struct rp_weighted_comparison {
    struct rp_comparison comparison;
    double weight_ns; /**< 0: not known */
    const char *name; /**< "grid 1024x1x1 workgroup 256x1x1" */
};

struct rp_decision {
    enum rp_outcome outcome; /**< WRONG, SLOWER, EQUAL, UNDECIDED or FASTER */
    bool ratio_known;
    double ratio, low, high; /**< of all geometries by weight */
    double weight_ns;        /**< the sum of their weights; 0: not known */
    double error;            /**< probability that "faster" is false, at most */
    char reason[400];        /**< one sentence */
};

/** This is a part of a whole, of which another build is so much faster. */
struct rp_part {
    double weight_ns; /**< its time before; 0: not known */
    double ratio, low, high;
};

/**
 * The time of the whole is the sum of its parts, so ratios are weighted by the time before. Where
 * that of one part is not known, all count the same.
 * @return the whole, of zeros where there are no parts
 */
struct rp_part rp_weigh_parts(const struct rp_part *parts, size_t count);

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

/* Tells which of two configurations is faster, as far as a few noisy samples allow. */

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

/** This is a captured dispatch, one of each geometry. */
struct rp_captured {
    char *folder;
    char *name;                       /**< "grid 1024x1x1 workgroup 256x1x1 lds 0" */
    char *kernel, *symbol;            /**< demangled; mangled, without .kd */
    char *gpu;                        /**< "gfx942"; "": not known */
    char *product;                    /**< "AMD Instinct MI300X"; "": not known */
    char sums_sha256[RP_SHA256_TEXT]; /**< of its checksums of all its files, as it was read; "": it
                                           has none */
    bool software;                    /**< of the software device */
    uint32_t grid[3], workgroup[3], group_bytes;
    uint64_t number; /**< among the dispatches of its kernel, 1 = first */
    char *launch;    /**< of rp_launches_capture: folder of the capture as of which a candidate is
                          launched, with workgroups of size .launched; NULL: as this one */
    uint32_t launched[3];
    double weight; /**< time of all dispatches of that geometry in the profile, ns; 0 = unknown */
};

/** Release it with rp_captures_free. */
struct rp_captures {
    struct rp_captured *list; /**< in the order of their folders */
    size_t count;
    double covered; /**< part of the kernel's time in the profile that geometries of these take;
                         negative = unknown */
    uint64_t largest_items; /**< work-items of the largest workgroup in the profile, also of
                                 launches that were not captured; 0: unknown */
};

/** Returns the work-items of the largest workgroup that was seen. */
uint64_t rp_captures_largest(const struct rp_captures *captures);

/**
 * Captures the dispatches of a kernel.
 * @param program instead of the first word of measure->program
 * @param name demangled, as the profile has it
 * @param profile folder of a profile of the same program, for the weights
 * @param output folder to make; an existing one is complete, and is read instead
 * @return 0; RP_VERDICT when the kernel cannot be captured or does not replay, or two have that
 * name, with the reason; RP_ENVIRONMENT ...
 */
int rp_captures_make(const struct rp_child_context *measure, const char *program, const char *name,
                     const char *symbol, const char *profile, const char *output,
                     struct rp_captures *ret, struct rp_err *err);
void rp_captures_free(struct rp_captures *captures);

/**
 * Reads captures that are there, of whichever kernels.
 * @param folder a capture, or one with those of several dispatches, as isolate makes it
 * @return 0; RP_BAD_INPUT: there is none; RP_VERDICT: one cannot be replayed here
 */
int rp_captures_read(const char *folder, struct rp_captures *ret, struct rp_err *err);

/**
 * Captures the same dispatches of another build of the program, which launches the kernel
 * otherwise.
 * @param captures of the program as it was
 * @param output folder to make; an existing one is complete, and is read instead
 * @param ret the same captures, each with its .launch; all else is borrowed. Release it with
 * rp_launches_free
 * @return as rp_captures_make; RP_VERDICT also when the program has no such dispatch
 */
int rp_launches_capture(const struct rp_child_context *measure, const char *program,
                        const char *name, const struct rp_captures *captures, const char *output,
                        struct rp_captures *ret, struct rp_err *err);
void rp_launches_free(struct rp_captures *launches);

/** Says how often a kernel is launched, and a number that is the same for the same geometries. */
struct rp_launch_count {
    char *symbol; /**< without .kd */
    uint64_t launches, geometries;
    /** A number for each launch that the host has chosen: grid, workgroup and dynamic LDS. The
     * kernel's own LDS is not in it. They rise. */
    struct {
        RP_VEC(uint64_t);
    } kinds;
};

/** Says whether each way in which @p of is launched is also one of @p all. */
bool rp_launch_count_includes(const struct rp_launch_count *all, const struct rp_launch_count *of);

/** Release it with rp_launch_counts_free. */
struct rp_launch_counts {
    struct rp_launch_count *list;
    size_t count;
};

/** @param profile folder of one, of whose databases all dispatches are looked at */
int rp_launch_counts_read(const char *profile, struct rp_launch_counts *ret, struct rp_err *err);
void rp_launch_counts_free(struct rp_launch_counts *counts);
/** @return NULL: it is not launched */
const struct rp_launch_count *rp_launch_counts_find(const struct rp_launch_counts *counts,
                                                    const char *symbol);

/** This is one comparison with all its measurements. Release it with rp_compared_free. */
struct rp_compared {
    struct rp_comparison comparison; /**< its reason is that below */
    char *reason;
    json_t *json; /**< of `replay compare --json`; NULL: it did not come to that */
};

/**
 * Compares two code objects.
 * @param before, after code objects
 * @param again with the captured inputs only, and without checks of memory: a session has said
 * before what it does with others
 * @return 0, also when `after` is wrong or crashes; RP_BAD_INPUT when `before` is; RP_ENVIRONMENT
 */
int rp_compare(const struct rp_child_context *measure, const struct rp_captured *captured,
               const char *before, const char *after, bool again, struct rp_compared *ret,
               struct rp_err *err);
void rp_compared_free(struct rp_compared *compared);

/** This is a kernel of which another build is judged. All pointers are borrowed. */
struct rp_judged_kernel {
    const struct rp_child_context *measure; /**< says by how much it is to be faster */
    const char *name;                       /**< of rp_judge_another */
    const char *before;                     /**< code object of what it is compared with */
    const struct rp_captures *captures;
    const struct rp_time_floor *floor; /**< of rp_judge */
    bool any_body; /**< of rp_judge: the change may be of any kind (rp_decide_by_inputs) */
    bool again;    /**< of rp_judge: as of rp_compare */
    void (*progress)(void *context, const char *text); /**< may be NULL */
    void *context;
};

/**
 * Compares on each captured geometry, in a process for each, and decides. The first geometry with
 * different output ends it.
 * @param candidate code object
 * @param ret_json of each comparison; owned by the caller
 */
int rp_judge(const struct rp_judged_kernel *kernel, const char *candidate, struct rp_decision *ret,
             json_t **ret_json, struct rp_err *err);

/**
 * Does the same for another kernel that the candidate changes as well (rp_decide_by_another).
 * @param decision "faster" until now; changed when this kernel pays for it
 * @param json its comparisons are appended
 */
int rp_judge_another(const struct rp_judged_kernel *kernel, const char *candidate,
                     struct rp_decision *decision, json_t *json, struct rp_err *err);

/* This section checks that a name is one kernel. Static functions, and functions in a namespace
 * without a name, may have the same name in several files, but traces, captures and comparisons go
 * by names. */

/** Says whether a name, as code objects have it ("_Z4workPf.kd"), is that symbol's. */
bool rp_symbol_is(const char *name, const char *symbol);

/**
 * @param profile  folder of one, of whose databases all dispatches are looked at
 * @return 0; RP_VERDICT when dispatches of that name are of two code objects; RP_ENVIRONMENT,
 *         RP_BAD_INPUT
 */
int rp_check_single_code_object(const char *profile, const char *symbol, struct rp_err *err);

#endif
