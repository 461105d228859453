/**
 * @file replay_trial.h
 * @brief This header tries another kernel in the place of the captured one: what it is measured
 * by.
 */
#ifndef RP_REPLAY_REPLAY_TRIAL_H
#define RP_REPLAY_REPLAY_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/launch_changes.h"
#include "replay/output_rules.h"
#include "replay/page_changes.h"
#include "replay/replay.h"
#include "replay/rounding_noise.h"

enum {
    RP_COMPARE_TEXT = 160,           /**< of several rules */
    RP_TRIAL_UNINITIALISED_SEED = 1, /**< the seed */
};

/* Runs of the captured kernel itself differ by this, from which the tolerance follows for kernels
 * that add up in a varying order.
 */

enum {
    RP_SPREAD_TYPES = 4, /**< RP_F32 to RP_F64 */
    RP_SPREAD_TIMES = 4, /**< another kernel may differ by so many times what the captured one does:
                              a few runs do not show the most that there is */
};

/** This is the spread of the differing words, taken as numbers of one type. */
struct rp_spread_of_type {
    double abs, rel;          /**< the greatest differences */
    double smallest, largest; /**< size of a number that differs, but for 0; 0: there is none */
    uint64_t steps;           /**< between representable numbers, at most */
    bool no_numbers;          /**< NaN, infinite or denormal here and not there */
};

/** Zero-initialise this struct. */
struct rp_spread {
    uint64_t words; /**< of 4 bytes that differ */
    struct rp_spread_of_type types[RP_SPREAD_TYPES];
};

struct rp_derived_region {
    struct rp_spread spread;
    struct rp_compare_rule rule; /**< RP_EXACT: runs do not differ, or are not near each other */
};

struct rp_differing_page {
    struct rp_page_key key;
    uint64_t words[RP_PAGE_MASKS];
};

/** Pages are in rising order. */
struct rp_differing_pages {
    RP_VEC(struct rp_differing_page);
};

/** Zero-initialise this struct. */
struct rp_derived_tolerance {
    struct rp_derived_region *regions; /**< as those of the capture; NULL: a rule was given */
    struct rp_differing_pages differing,
        near;      /**< words that differ; words to which the rule applies */
    size_t sorted; /**< of the differing ones */
    unsigned runs;
};

/**
 * Runs the captured kernel.
 * @param ret_rule  of the first region that has one; or RP_EXACT
 */
int rp_derived_tolerance_find(struct rp_derived_tolerance *own, struct rp_replay *r,
                              struct rp_compare_rule *ret_rule, struct rp_err *err);

/** Prints all rules as rp_compare_rule_print() writes them, with " and " between them. */
void rp_derived_tolerance_print(const struct rp_derived_tolerance *own, const struct rp_replay *r,
                                char *out, size_t room);

/** Compares a page as rp_compare_words() does. */
void rp_derived_tolerance_compare(const struct rp_derived_tolerance *own, size_t region,
                                  uint64_t page, const uint8_t *got, const uint8_t *expected,
                                  uint64_t *ret_bad);

/** Compares what is exact, and roughly (rp_compare_roughly) what may be off by the tolerance. */
void rp_derived_tolerance_compare_roughly(const struct rp_derived_tolerance *own, size_t region,
                                          uint64_t page, const uint8_t *got,
                                          const uint8_t *expected, uint64_t *ret_bad);

/* How far a result may be off that is computed in another order (rounding_bound.c). */

enum { RP_BOUND_NONE = -2, RP_BOUND_CAPTURED = -1 }; /* inputs; others are variations */

/** From which inputs the captured kernel is run for a bound. */
enum rp_bound_inputs {
    RP_BOUND_AS_THEY_ARE,
    RP_BOUND_SIZES, /**< their absolute values, for sums of products */
    RP_BOUND_MOVED, /**< and RP_NOISE_LEVELS - 1 more: by units in the last place, for others
                         (rounding_noise.h) */
};

/** What it gives for these. */
struct rp_bound_page {
    struct rp_page_key key;
    enum rp_number_type type;
    union {
        struct rp_rounding_noise noise; /**< for RP_BOUND_MOVED */
        uint8_t sizes[RP_PAGE_BYTES];   /**< for RP_BOUND_SIZES */
    };
};

struct rp_bound_type {
    struct rp_page_key key;
    enum rp_number_type type;
};

struct rp_rounding_bound {
    bool wanted;   /**< no rule was given, and it is not known that there is no bound */
    bool proved;   /**< the captured kernel computes sums of products */
    bool exceeded; /**< ... but results are larger than these can be */
    bool noise;    /**< it does not, but follows its inputs as on a straight line */
    int inputs;    /**< whose pages these are */
    struct {
        RP_VEC(struct rp_bound_page);
    } pages;
    struct {
        RP_VEC(struct rp_bound_type);
    } types;        /**< with the captured inputs; others may give what is no number's own */
    uint64_t words; /**< that were off and near enough */
    double largest, allowed; /**< of the word that is off by most of what it may be */
};

struct rp_replay_trial;

/** Finds the bound for the captured inputs, if there is one. */
int rp_rounding_bound_find(struct rp_replay_trial *trial, struct rp_err *err);
/** Forgets the bound of other inputs. */
void rp_rounding_bound_begin(struct rp_rounding_bound *bound, int inputs);
/** Returns the type of the numbers in a page of inputs. RP_EXACT: it has none. */
enum rp_number_type rp_rounding_bound_type(const struct rp_replay_trial *trial,
                                           const struct rp_capture_memory *m, uint64_t page,
                                           const uint8_t *contents, size_t bytes);
/** Makes a page of numbers what it is for a bound.
 * @param inputs enum rp_bound_inputs
 * @param seed  of the page's place */
void rp_rounding_bound_change(enum rp_number_type type, unsigned inputs, uint64_t seed,
                              size_t bytes, uint8_t *page);
/** Keeps a page of what the captured kernel gives for those.
 * @param written  words that are results
 * @param expected what it gives for inputs as they are */
void rp_rounding_bound_keep(struct rp_replay_trial *trial, unsigned inputs,
                            const struct rp_capture_memory *m, uint64_t page,
                            const uint64_t *written, const uint8_t *contents,
                            const uint8_t *expected);
/** Says by how much results differ, in a line, if they do. */
void rp_rounding_bound_print(const struct rp_rounding_bound *bound, const char *who);
/** Takes words off the wrong ones that are near enough. */
void rp_rounding_bound_allow(struct rp_rounding_bound *bound, int inputs, struct rp_page_key key,
                             const uint8_t *got, const uint8_t *expected, uint64_t *bad);

struct rp_replay_trial {
    struct rp_replay *r;
    struct rp_compare_rule rule; /**< of the first region that has one, if it is not given */
    bool own_spread; /**< the rule is to come from what runs of the captured kernel differ by */
    struct rp_derived_tolerance own; /**< then */
    char rule_text[RP_COMPARE_TEXT]; /**< which it is */
    struct rp_rounding_bound bound;  /**< beside it */
    bool probe; /**< find out by running the captured kernel from other memory what it writes */
    unsigned not_varied; /**< kinds of other inputs (page_changes.h), likewise */
    unsigned left_out;   /**< ways of changing memory that it does not survive (replay_trial.c) */
    bool no_poison;      /**< it does not survive that */
    const char *inputs;  /**< see page_changes.h: one of the ways */
    struct rp_addresses addresses; /**< of captured memory */
    enum rp_poison poison;         /**< of the next run */
    struct rp_write_set set;
    uint64_t written_bytes, poisoned_bytes, blind_bytes; /**< see page_changes.h */
    bool leftovers; /**< other ones change nothing of what the captured kernel gives */
    const char *leftovers_reason; /**< why that is not so, or not known; NULL */
    bool probe_broke;             /**< from other memory the captured kernel does not end */
};

struct rp_replay_outcome {
    struct rp_replay_verdict verdict;
    uint64_t wrong_bytes;    /**< in words that the captured kernel writes */
    uint64_t outside_bytes;  /**< in words that it does not */
    uint64_t variable_bytes; /**< in variables of the code object */
    struct rp_mismatch off;  /**< how far words are off that are wrong */
    unsigned variation;      /**< of inputs: which (input_variation.h) */
    bool second; /**< it is wrong in the second way of running only (input_variation.c) */
    struct rp_size_change size;      /**< of RP_VARY_SIZES */
    struct rp_overlap overlap;       /**< of RP_VARY_IN_PLACE */
    struct rp_word_difference first; /**< word that is wrong, of the first page */
    bool leftovers;                  /**< LDS, scratch and registers did not begin as zeros */
};

/** This says how another kernel is run, and what is observed. */
struct rp_trial_run {
    enum rp_poison poison;
    bool restore_all, check_all; /**< else where the captured kernel writes only */
    bool leftovers;              /**< if the trial says that they tell something */
};

/**
 * Runs that are not timed come first. The first starts from memory as captured, since NaN does not
 * affect a minimum; others start from the other kinds of poison. The rest have other contents of
 * LDS, scratch and registers. A kernel that computes only once is right only once.
 */
enum { RP_TRIAL_FIRST_RUNS = 5 };
extern const struct rp_trial_run rp_trial_first[RP_TRIAL_FIRST_RUNS];
extern const struct rp_trial_run rp_trial_timed;

/**
 * Runs the captured kernel to check that it reproduces the captured memory, and to find what it
 * writes and what can be poisoned (replay_trial.c). Zero-initialise the struct and set .r, .rule,
 * .probe and what follows it.
 * @return 0; RP_VERDICT: it does not replay, or writes nothing by which a kernel can be judged
 */
int rp_trial_prepare(struct rp_replay_trial *trial, struct rp_err *err);

/** Marks the words of a page that are not right by the rule. */
void rp_trial_compare(const struct rp_replay_trial *trial, const struct rp_capture_memory *m,
                      uint64_t page, const uint8_t *got, const uint8_t *expected,
                      uint64_t *ret_bad);

/** Code and arguments must not change. */
static inline bool rp_trial_may_change(const struct rp_capture_memory *m)
{
    return m->region.memory_class != RP_MEMORY_CODE && !(m->region.flags & RP_MEMORY_KERNARG);
}

/** A page gets its poison. @param data  the trial (rp_replay_edit_page) */
int rp_trial_poison_page(void *data, const struct rp_capture_memory *m, uint64_t page, size_t bytes,
                         uint8_t *contents, struct rp_err *err);

/** Writes memory as it must be before a run of the candidate, poison included. */
int rp_trial_fill(struct rp_replay_trial *trial, struct rp_err *err);

/** Judges memory after it. */
int rp_trial_check(struct rp_replay_trial *trial, struct rp_replay_outcome *ret,
                   struct rp_err *err);

/** Runs r->kernel as it says, and judges. */
int rp_trial_run(struct rp_replay_trial *trial, const struct rp_trial_run *how, double *ret_us,
                 struct rp_replay_outcome *ret, struct rp_err *err);

#endif
