/**
 * @file compare.h
 * @brief Decides whether one result is faster than another, and by how much. It takes and gives
 * plain structs, so the source of a side does not matter here. Rules and error rates:
 * docs/how-it-decides.md.
 */
#ifndef RP_ANALYZE_COMPARE_H
#define RP_ANALYZE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/roofline.h"

struct json_t;
struct rp_err;
struct rp_launches;
struct rp_profile;
struct rp_store;
struct rp_versus_pair;
struct rp_versus_side;

enum rp_versus_metric {
#define RP_COMPARE_METRIC(id, name, per_kernel, what) RP_COMPARE_##id,
#include "analyze/compare_metrics.def"
#undef RP_COMPARE_METRIC
    RP_COMPARE_METRICS
};
extern const char *const rp_versus_metric_names[];
/** Says whether it is known of kernels only. */
bool rp_versus_metric_per_kernel(enum rp_versus_metric metric);

/** Holds times of a number of runs, in their order. NAN means that the run has no usable time. */
struct rp_versus_runs {
    double *ms;
    size_t count;
    /** Bounds of the first run, where its times are from counts; both 0: they are not known. */
    double shortest_ms, longest_ms;
};

/** Holds all that a result says of kernels of one name. */
struct rp_versus_kernel {
    char *name;
    uint64_t code_hash; /**< of what it consists of; 0 = unknown */
    bool runtime_internal;
    struct rp_versus_runs runs;
    struct rp_versus_runs launches; /**< of the base run, by their starts; no count: not known */
    struct rp_quantity metrics[RP_COMPARE_METRICS];
    uint64_t grid[3], block[3]; /**< of the most frequent launch */
    char *bound;                /**< bottleneck or limiting resource; NULL: not known */
    double heaviest_ms; /**< time of the GPU and registers that grid, metrics and bound are of */
};

struct rp_versus_gpu {
    char *architecture, *product;             /**< NULL: not known */
    uint64_t compute_units, engine_clock_mhz; /**< 0: not known */
};

/** Holds the findings of `replay compare`. Its times are of pairs of runs, and decided by its own
 * rules. */
struct rp_versus_reported {
    bool is;
    double ratio, low, high, level; /**< time after / time before */
    bool ratio_known;
    char *verdict, *reason;
    bool wrong; /**< "different output" */
};

struct rp_versus_side {
    char *path;
    bool software;
    bool wall;                  /**< of the whole process, nothing was traced */
    char *timing_model;         /**< of the software device; NULL: not said */
    uint32_t timing_version;    /**< of that model */
    uint64_t clock_mhz;         /**< engine clock that was modelled; 0: the highest, or measured */
    struct rp_versus_gpu *gpus; /**< each kind once */
    size_t gpu_count;
    struct rp_versus_runs runs; /**< of all kernels */
    /** From the start of the first kernel or copy to the end of the last one; no run, or NAN: not
     * known. It has no bounds. */
    struct rp_versus_runs spans;
    struct rp_quantity metrics[RP_COMPARE_METRICS]; /**< of the whole */
    struct rp_versus_kernel *kernels;               /**< user kernels first, each by falling time */
    size_t kernel_count;
    uint32_t *slots; /**< of kernels by name; NULL: the kernels were not added one by one */
    size_t slot_count;
    char *command, *rocm_version, *tracer; /**< NULL: not known */
    char **command_words;                  /**< the same, up to a NULL; NULL: not known */
    bool part;             /**< what was recorded of its run is left to time, a hand or a signal */
    bool incomplete;       /**< something was lost */
    char *failed_launches; /**< which of a run started no kernel, sorted; NULL: none */
    uint64_t failed, launches; /**< how many, and of how many */
    char *walls; /**< wall clocks of modelled runs, which tell runs apart; NULL: not known */
    struct rp_versus_reported told;
};

void rp_versus_side_free(struct rp_versus_side *side);
/** Finds the kernel of this name; NULL: there is none. */
struct rp_versus_kernel *rp_versus_side_find(const struct rp_versus_side *side, const char *name);
/** Adds the times of single launches of the base run, unless they are known. */
int rp_versus_side_add_launches(struct rp_versus_side *side, struct rp_store *store,
                                struct rp_err *err);

/** Makes a side of a profile in memory.
 * @param runs of all kernels; kernels have their base run only */
int rp_versus_side_of(const struct rp_profile *profile, const struct rp_origin *origin,
                      const char *path, struct rp_versus_side *ret, struct rp_err *err);

/**
 * Adds a further run, which is a result of one run itself. Registers, launches and geometry stay
 * those of the first run that has the kernel.
 * @return 0; RP_BAD_INPUT when it is of another device or model of time; RP_ENVIRONMENT
 */
int rp_versus_side_add_run(struct rp_versus_side *side, const struct rp_versus_side *run,
                           struct rp_err *err);

/**
 * Reads profile.json, or what `replay compare --json` prints.
 * @return 0; RP_BAD_INPUT for other texts
 */
int rp_versus_side_parse(const char *text, const char *path, struct rp_versus_side *ret,
                         struct rp_err *err);

/**
 * Reads the bounds of counts timing, which are known where all launches of a sum have them.
 * @param owner a kernel, or `timing`, of profile.json
 * @param ret_ms the least and the greatest time; unchanged where they are not known
 */
void rp_versus_bounds_read(const struct json_t *owner, struct rp_quantity launches,
                           double ret_ms[2]);

/** Adds bytes, bounds and bottlenecks of roofline.json or analysis.json beside it. */
int rp_versus_side_add(struct rp_versus_side *side, const char *text, const char *path,
                       struct rp_err *err);

enum { RP_COMPARE_LEAST_RUNS = 6 }; /**< of each side, where times are measured */

/** Says how much longer one side takes than the other, in logarithms. */
struct rp_versus_shift {
    double log_ratio; /**< of time after / time before */
    double error;     /**< that is multiplied by Student's t */
    double degrees;   /**< of freedom */
    double drift;     /**< how far the mean may be off because the runs drift */
};
/** Needs at least three times on each side, all positive. NAN is a run without a time, which keeps
 * its place. */
struct rp_versus_shift rp_versus_shift_of(const double *before_ms, size_t before_count,
                                          const double *after_ms, size_t after_count);
/** Returns half of the interval of log_ratio at confidence 1 - alpha. */
double rp_versus_half_interval(const struct rp_versus_shift *shift, double alpha);
/** Returns how improbable it is that the ratio is within 1 / most to most. */
double rp_versus_p_value(const struct rp_versus_shift *shift, double most);

enum rp_versus_verdict {
    RP_COMPARE_FASTER,
    RP_COMPARE_SLOWER,
    RP_COMPARE_EQUAL,
    RP_COMPARE_UNDECIDED
};
extern const char *const rp_versus_verdict_names[];

/** Says how a ratio is known. */
enum rp_versus_basis {
    RP_COMPARE_NOT_TIMED,       /**< one of both has no time */
    RP_COMPARE_INCOMPLETE,      /**< something was lost: only the estimate */
    RP_COMPARE_FAILED_LAUNCHES, /**< HIP refused launches of one side: only the estimate */
    RP_COMPARE_TOO_FEW,         /**< measured, and too few runs: only the estimate */
    RP_COMPARE_MEASURED,        /**< by the spread of the runs */
    RP_COMPARE_MODELLED,        /**< the same in each run: exact */
    RP_COMPARE_BY_REPLAY,       /**< told by `replay compare` */
};
extern const char *const rp_versus_basis_names[];

/** A time within one run has to be off by more than this factor: so much may runs differ of which
 * only one was measured. */
#define RP_COMPARE_BETWEEN_RUNS 1.5
/** A GPU's timestamps have this step; two of them, begin and end, belong to each launch. */
#define RP_COMPARE_TICK_MS 10e-6

/** Says that a series has two levels, one behind the other. */
struct rp_versus_step {
    size_t at;             /**< the first behind the step, from 1; 0: there is none */
    double from_ms, to_ms; /**< medians of the two parts */
};

/** Finds the step where it is obvious. */
struct rp_versus_step rp_versus_step_of(const struct rp_versus_runs *series);

/** Says what the launches of one run of each side tell, which is nothing of other runs. */
struct rp_versus_within {
    size_t launches;                /**< of each side; 0: not known, or too few */
    size_t stepping;                /**< of the whole: so many kernels have a step */
    enum rp_versus_verdict verdict; /**< where bounded: faster, slower or undecided */
    bool bounded;
    double ratio, low, high, level; /**< as of a time, of median launches */
};

struct rp_versus_time {
    enum rp_versus_basis basis;
    enum rp_versus_verdict verdict;
    double before_ms, after_ms;     /**< geometric means; NAN: not known */
    size_t before_runs, after_runs; /**< with a usable time */
    double ratio;                   /**< time after / time before; NAN: not known */
    bool bounded;
    double low, high, level; /**< interval of the ratio and its confidence, where bounded */
    double drift;            /**< part of the interval that is for drift: a ratio minus 1 */
    const char *reason;      /**< of undecided; static, the side's or of rp_versus_found.texts */
    /** Of the runs, or of the launches where these are too few and the launches are known. */
    struct rp_versus_step before_step, after_step;
    struct rp_versus_within within; /**< with RP_COMPARE_TOO_FEW */
};

struct rp_versus_pair {
    const struct rp_versus_kernel *before, *after; /**< NULL: not there */
    struct rp_versus_time time;
};

struct rp_versus_rule {
    double margin; /**< ratios from 1 / (1 + margin) to 1 + margin are equal */
    /** Of a false verdict, at most: a half for the whole, one for all kernels. The span has another
     * half, since its verdict is a further one. */
    double alpha;
};

/** Holds one result against the baseline. It refers to the sides. */
struct rp_versus_found {
    const struct rp_versus_side *before, *after;
    struct rp_versus_time whole;
    /** From the first kernel or copy to the last one, with the copies and gaps between them;
     * RP_COMPARE_NOT_TIMED: not known of both. */
    struct rp_versus_time span;
    struct rp_versus_pair *kernels; /**< of both sides first, by falling time before */
    size_t kernel_count;
    char **texts; /**< reasons with numbers */
    size_t text_count;
};

/** Adds what the launches tell of times that have too few runs. */
void rp_versus_find_within(struct rp_versus_found *compared, const struct rp_versus_rule *rule);

/**
 * @return 0; RP_BAD_INPUT when the two cannot be compared: hardware and software, other GPUs, other
 * models of time
 */
int rp_versus(const struct rp_versus_side *before, const struct rp_versus_side *after,
              const struct rp_versus_rule *rule, struct rp_versus_found *ret, struct rp_err *err);
/** Repeats the findings of `replay compare`; both sides are the same. */
int rp_versus_find_reported(const struct rp_versus_side *side, struct rp_versus_found *ret,
                            struct rp_err *err);
void rp_versus_found_free(struct rp_versus_found *compared);

enum rp_versus_relation { RP_AT_MOST, RP_AT_LEAST, RP_BELOW, RP_ABOVE, RP_EXACTLY };

/** A gate is [kernel:NAME:]METRIC OP BOUND; docs/compare.md has the grammar. */
struct rp_versus_condition {
    char *text;   /**< as it was given */
    char *kernel; /**< NULL: of the whole, or of every kernel */
    bool runtime; /**< else metric */
    bool span;    /**< with runtime: of the time from end to end */
    bool within;  /**< with runtime: one run of each side may decide it by its launches */
    enum rp_versus_metric metric;
    enum rp_versus_relation relation;
    double bound;
    bool of_before; /**< the bound is that many times what it was before ... */
    double more;    /**< ... and so much more */
    /** With this, a condition on a time also holds where a kernel of the program that ran before
     * does not run after. */
    bool may_miss;
};

int rp_versus_condition_parse(const char *text, struct rp_versus_condition *ret,
                              struct rp_err *err);
void rp_versus_condition_free(struct rp_versus_condition *gate);

enum rp_versus_passed { RP_COMPARE_PASSED, RP_COMPARE_FAILED, RP_COMPARE_OPEN };
extern const char *const rp_versus_passed_names[];

struct rp_versus_outcome {
    enum rp_versus_passed passed;
    const char *kernel; /**< that decided it; NULL: the whole */
    struct rp_quantity value, limit;
    char reason[512];
    /** "a, b": what kernels are called whose names are like the gate's, which none has. It is text
     * of the results, other than the reason. */
    char near[256];
};

/** Says whether the span tells more than the time of kernels. */
bool rp_versus_span_matters(const struct rp_versus_found *compared);

/** Decides a gate. One that cannot be decided is open, and does not pass. */
void rp_versus_condition_judge(const struct rp_versus_condition *gate,
                               const struct rp_versus_found *compared,
                               struct rp_versus_outcome *ret);

/* Finds kernels of a side by name in a hash table over side->kernels, because programs of many
 * template instances have ten thousands of kernels. */

/**
 * Pairs the kernels of two sides by name first. Where kernels of one name are distinguished on a
 * side, the rest is paired by code. Where one is left on each side, these are a pair.
 * @param ret room for all; those of before come first
 * @return how many; SIZE_MAX: memory has ended
 */
size_t rp_versus_names_pair(const struct rp_versus_side *before, const struct rp_versus_side *after,
                            struct rp_versus_pair *ret);

/* This is a straight line through the logarithms of times, with their scatter around it. NAN is a
 * run without a time, which keeps its place in the order. */

struct rp_trend {
    size_t count;  /**< of times */
    double middle; /**< of the places of the times in the order of runs */
    double mean, slope;
    double squares;    /**< sum of the squared deviations from the line */
    double neighbours; /**< sum of the products of deviations that follow each other */
};

/** Fits the line to at least two times.
 * @param count of runs */
struct rp_trend rp_trend_of(const double *ms, size_t count);
/** Estimates how much of a time's deviation the next one has, from both series.
 * @param count of the times that hide some of it */
double rp_trend_dependence(const struct rp_trend *a, const struct rp_trend *b, double count);

#endif
