/**
 * @file runner.h
 * @brief Who runs configurations for the search: workers on GPUs, a recorded space, a journal of
 *        what was run before. Several jobs may be out; answers come in any order.
 */
#ifndef RP_TUNE_RUNNER_H
#define RP_TUNE_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tune/evaluation.h"

struct rp_err;

/** By the word that journals have. @return false: no outcome has it */
bool rp_run_outcome_find(const char *name, enum rp_evaluation_outcome *ret);

/** An answer to one is none to another. */
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

/** Release with rp_run_answer_free. */
struct rp_run_answer {
    uint64_t number;
    enum rp_evaluation_outcome outcome;
    double *samples_ms; /**< above 0; none unless the outcome is RP_EVALUATION_OK */
    size_t count;
    char *reason;     /**< why it did not end well; NULL: nothing is known */
    double build_ms;  /**< below 0: not known */
    double run_ms;    /**< all runs by the clock, warm-ups included; below 0: not known */
    double warmup_ms; /**< warm-ups alone; 0: there were none, or nobody knows */
    double at_ms;     /**< when it was there, since the search began */
};

/** Accepts zeros. */
void rp_run_answer_free(struct rp_run_answer *answer);

/** What is run on; texts belong to the runner. */
struct rp_run_device {
    const char *kind;        /**< "software", "hardware", "recorded" */
    const char *name;        /**< of the GPU; "" when nobody knows */
    const char *rocm;        /**< version; "" when nobody knows */
    const char *timing;      /**< model of time of the software device; "" elsewhere */
    uint32_t timing_version; /**< of that model; 0 elsewhere */
};

struct rp_runner {
    unsigned workers; /**< how many jobs may be out at a time, at least 1 */
    bool exact;       /**< a configuration takes the same time whenever it is run */
    struct rp_run_device device;
    /** @return 0; RP_ENVIRONMENT */
    int (*submit)(void *state, const struct rp_run_job *job, struct rp_err *err);
    /** Waits for one of those that are out. @return 0; RP_ENVIRONMENT; RP_INTERRUPTED */
    int (*next)(void *state, struct rp_run_answer *ret, struct rp_err *err);
    /** When the next one of those that are out is there, where that is known before: runners whose
     *  time is made up. NULL elsewhere. @return whether one is out */
    bool (*due_ms)(void *state, double *ret_ms, uint64_t *ret_number);
    void *state;
};

#endif
