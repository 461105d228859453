/**
 * @file search.h
 * @brief Searches a space: it says who runs configurations, what is run, what the results are, and
 * how they are written.
 */
#ifndef RP_TUNE_SEARCH_H
#define RP_TUNE_SEARCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "base/stats.h"
#include "experiment/judge.h"
#include "experiment/measured_run.h"
#include "tune/objective.h"
#include "tune/strategy.h"
#include "tune/surrogate.h"
#include "tune/worker_pool.h"

struct rp_buf;
struct rp_err;
struct rp_space;
struct rp_strategy;

/* A runner runs configurations for the search: workers on GPUs, a recorded space, or a journal of
 * earlier runs. Several jobs may run at a time, and answers come in any order. */

/** Finds an outcome by its word in journals.
 * @return false: no outcome has it */
static inline bool rp_run_outcome_find(const char *name, enum rp_evaluation_outcome *ret)
{
    for (int i = 0; name && i <= RP_EVALUATION_LIMIT; i++)
        if (strcmp(rp_evaluation_outcome_word((enum rp_evaluation_outcome)i), name) == 0) {
            *ret = (enum rp_evaluation_outcome)i;
            return true;
        }
    return false;
}

/** An answer for one purpose does not serve another. */
enum rp_run_purpose {
    RP_RUN_EXPLORE, /**< how fast is this one? */
    RP_RUN_DRIFT,   /**< is it as fast as it was? */
    RP_RUN_CONFIRM, /**< which of the finalists is the fastest? */
};

struct rp_run_job {
    uint64_t number; /**< from 1 on, in the order of submission */
    size_t config;
    enum rp_run_purpose purpose;
    const char *contest; /**< CONFIRM: who the finalists are, for as long as it is out; NULL */
    unsigned warmups, samples;
    double cap_ms;        /**< how long one run that counts may take by the clock; 0: for ever */
    double warmup_cap_ms; /**< the same of a warm-up: first runs may fill caches and compile */
    double begun_ms; /**< when it was submitted, since the search began: its clock goes on there */
};

/** Release it with rp_run_answer_free. */
struct rp_run_answer {
    uint64_t number;
    enum rp_evaluation_outcome outcome;
    double *samples_ms; /**< above 0; none unless the outcome is RP_EVALUATION_OK */
    size_t count;
    double *numbers;  /**< of objectives and limits, of each sample; NULL without any. A search
                         makes samples_ms of them */
    char *reason;     /**< why it did not end well; NULL: nothing is known */
    double build_ms;  /**< below 0: not known */
    double run_ms;    /**< all runs by the clock, warm-ups included; below 0: not known */
    double warmup_ms; /**< warm-ups alone; 0: there were none, or nobody knows */
    double at_ms;     /**< when it was there, since the search began */
};

/** Accepts zeros. */
static inline void rp_run_answer_free(struct rp_run_answer *answer)
{
    free(answer->samples_ms);
    free(answer->numbers);
    free(answer->reason);
    *answer = (struct rp_run_answer){0};
}

/** Describes the device of the runs. Texts belong to the runner. */
struct rp_run_device {
    const char *kind;        /**< "software", "hardware", "recorded" */
    const char *name;        /**< of the GPU; "" when nobody knows */
    const char *rocm;        /**< version; "" when nobody knows */
    const char *timing;      /**< model of time of the software device; "" elsewhere */
    uint32_t timing_version; /**< of that model; 0 elsewhere */
    uint32_t threads;        /**< of the software device; 0: as many as there are */
};

struct rp_runner {
    unsigned workers; /**< how many jobs may be out at a time, at least 1 */
    bool exact;       /**< a configuration takes the same time whenever it is run */
    struct rp_run_device device;
    /** @return 0; RP_ENVIRONMENT */
    int (*submit)(void *state, const struct rp_run_job *job, struct rp_err *err);
    /** Waits for one of the running jobs.
     * @return 0; RP_ENVIRONMENT; RP_INTERRUPTED */
    int (*next)(void *state, struct rp_run_answer *ret, struct rp_err *err);
    /** Says when the next running job ends, if that is known before, as for runners with simulated
     * time. Other runners have NULL here.
     * @return whether a job is running */
    bool (*due_ms)(void *state, double *ret_ms, uint64_t *ret_number);
    void (*close)(void *state);
    void *state;
};

/** Accepts zeros. */
static inline void rp_runner_close(struct rp_runner *runner)
{
    if (runner->close)
        runner->close(runner->state);
    *runner = (struct rp_runner){0};
}

/* In a search a strategy chooses what is run, a runner runs it, and the best ones are run again in
 * turn until it is known which one is the best, or that nobody can tell. The same answers in the
 * same order lead to the same search, which lets it go on from a journal (tune/search_journal.h).
 */

/** This is the result of one configuration. */
struct rp_config_result {
    size_t config;
    enum rp_evaluation_outcome outcome;
    const char *phase;  /**< "seed" or "predict" */
    double *samples_ms; /**< owned by the result; with objectives costs of the first one */
    size_t sample_count;
    double *numbers;   /**< of all samples; owned by the result; NULL without objectives */
    double *values;    /**< their medians; owned by the result; NULL: it failed, or no objectives */
    double runtime_ms; /**< median of the samples; RP_EVALUATION_TIMEOUT: it takes at least that
                          long */
    char *reason;      /**< owned by the result; NULL: none */
    bool failed_again; /**< when it was run again to confirm it */
    double build_ms, run_ms, at_ms;
};

/** Finalists are the best ones, which are run again in turn. */
struct rp_finalist {
    size_t config;
    double *samples_ms; /**< owned by the result */
    size_t sample_count;
    double runtime_ms; /**< median */
    struct rp_interval interval;
    bool failed; /**< when it was run again */
    bool tied;   /**< with the first one: no difference can be told */
};

struct rp_search_progress {
    const struct rp_space *space;
    size_t evaluated, most;
    const struct rp_config_result *last;
    const struct rp_config_result *best; /**< NULL: none ran yet */
    const struct rp_objectives *objectives;
    const char *phase;      /**< "seed", "predict", "confirm" */
    size_t runs, most_runs; /**< of "confirm": how many of the finalists' are done */
    double at_ms;
    double left_ms; /**< until the phase is done, that is the budget is used up, as far as can be
                       told; below 0: it cannot */
};

struct rp_search_options {
    const struct rp_space *space;
    const struct rp_strategy *strategy;
    uint64_t seed;
    double max_fraction;  /**< of the space, above 0, at most 1 */
    double seed_fraction; /**< the same, of its first phase; 0: as the strategy sees fit */
    size_t budget_evals;  /**< 0: none, like the next four */
    double budget_ms, target_ms;
    size_t patience;      /**< evaluations without a faster one */
    size_t most_failures; /**< evaluations at the beginning of which none works */
    double timeout_ms;    /**< the longest that one run may take by the clock; 0: for ever */
    unsigned least_samples, most_samples, warmups;
    unsigned finalists;              /**< how many are run again at the end */
    struct rp_objectives objectives; /**< none: the time of a run; borrowed */
    const uint32_t *first; /**< configurations that are run before the strategy is asked */
    size_t first_count;
    void (*progress)(void *context, const struct rp_search_progress *progress); /**< or NULL */
    void *context;
};

/** Says why no further configuration was run. */
enum rp_search_end {
    RP_END_FRACTION,  /**< max_fraction of the space */
    RP_END_EVALS,     /**< budget_evals */
    RP_END_TIME,      /**< budget_ms */
    RP_END_TARGET,    /**< target_ms is reached */
    RP_END_PATIENCE,  /**< nothing faster for so long */
    RP_END_STRATEGY,  /**< the strategy has nothing left to ask for */
    RP_END_INTERRUPT, /**< SIGINT or SIGTERM: nothing was confirmed either */
    RP_END_FAILURES,  /**< most_failures, and none has worked */
    RP_END_SMALL,     /**< the space is so small that none may be run */
};

struct rp_phase_sum {
    size_t configs, runs;
    double ms; /**< by the clock */
};

/** Initialise it with zeros, and release it with rp_search_result_free. */
struct rp_search_result {
    size_t most; /**< how many might be run */
    struct rp_config_result *tuned;
    size_t tuned_count; /**< in the order in which they ended; each configuration once */
    struct rp_finalist *finalists;
    size_t finalist_count; /**< fastest first; the first one is the result; 0: none ran. Of several
                              objectives: all on the front, best by the first objective first */
    size_t lost_count;     /**< behind them: those that failed when they were run again */
    bool confirmed;        /**< they have been run again */
    struct rp_phase_sum seed, predict, confirm;
    struct rp_confidence model;
    size_t drift_checks;
    double drift;          /**< largest change of the best one when it was run again, as a share */
    bool drifted;          /**< it is more than noise */
    size_t drift_failures; /**< when it was run again, the best one failed */
    char *drift_reason;    /**< of the first time; owned; NULL: none */
    enum rp_search_end end;
};

/** @return 0, also when nothing ran; RP_ENVIRONMENT. In any case ret has to be released. */
int rp_search(const struct rp_search_options *options, const struct rp_runner *runner,
              struct rp_search_result *ret, struct rp_err *err);
/** Finds what came of a configuration.
 * @return NULL: it was not evaluated */
const struct rp_config_result *rp_search_tuned(const struct rp_search_result *result,
                                               size_t config);
/** Accepts zeros. */
void rp_search_result_free(struct rp_search_result *result);

/* A search is written as autotune.json, and as a picture (search_results.c). */

/** The search does not know these of itself. */
struct rp_search_about {
    const char *name;    /**< of the space: its file, or what a recorded one says */
    const char *command; /**< template; NULL: simulated */
    const char *objective;
    const char *device; /**< as of rp_run_device; NULL: not said */
};

/** Makes autotune.json (schemas/autotune.schema.json); the caller owns it. */
json_t *rp_search_json(const struct rp_search_options *options, const struct rp_runner *runner,
                       const struct rp_search_result *result, const struct rp_search_about *about);

/** Writes NAME=value NAME=value for people, without control characters. Long values are cut. */
void rp_search_put_parameters(const struct rp_space *space, size_t config, struct rp_buf *to);

/** Draws an SVG: runtimes in the order of evaluation on a logarithmic axis, and the best one so
 * far. */
void rp_search_svg(const struct rp_search_options *options, const struct rp_search_result *result,
                   const struct rp_search_about *about, struct rp_buf *to);

/* Measured results can be exported in the format T4, which other tools score and simulate. */

/** T4 knows these and no others. */
enum rp_fair_t4_validity {
    RP_T4_CORRECT,
    RP_T4_TIMEOUT,
    RP_T4_COMPILE,
    RP_T4_RUNTIME,     /**< it crashed */
    RP_T4_CORRECTNESS, /**< its output is wrong */
    RP_T4_CONSTRAINTS,
};

/** This is one configuration, in the order in which they were tried. Times below 0 are not known.
 */
struct rp_fair_t4_result {
    size_t config;
    enum rp_fair_t4_validity validity;
    double runtime_ms;        /**< of RP_T4_CORRECT only */
    const double *values;     /**< of objectives and limits; of RP_T4_CORRECT only */
    const double *samples_ms; /**< runs that it is of; may be NULL */
    size_t sample_count;
    double compile_ms, bench_ms, search_ms, framework_ms, check_ms;
    const char *timestamp; /**< NULL: none */
};

struct rp_fair_t4_source {
    const char *name, *device;              /**< what was tuned, and on what */
    const struct rp_objectives *objectives; /**< NULL: time */
};

/** Writes the same to a file.
 * @return 0, RP_ENVIRONMENT */
int rp_fair_t4_write(const char *path, const struct rp_space *space,
                     const struct rp_fair_t4_result *results, size_t count,
                     const struct rp_fair_t4_source *source, struct rp_err *err);

#endif
