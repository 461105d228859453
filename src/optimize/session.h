/**
 * @file session.h
 * @brief Turns a program and its source into a better source, or finds that no change was worth
 * keeping. docs/optimize.md describes the steps.
 */
#ifndef RP_OPTIMIZE_SESSION_H
#define RP_OPTIMIZE_SESSION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "experiment/build_command.h"
#include "experiment/child_run.h"
#include "optimize/candidate_check.h"
#include "optimize/propose.h"
#include "run/run_program.h"

struct rp_device_identity;
struct rp_err;

struct rp_session_options {
    const char *self;         /**< path of rocm-perf */
    char *const *program;     /**< the user's command line, NULL-terminated */
    const char *program_path; /**< where its first word was found */
    const char *source;       /**< the file with the kernels */
    struct rp_build_choice build;
    const char *folder; /**< of the session: journal, captures, candidates, optimize.json */
    const struct rp_proposer *proposer;
    const char *llm_settings; /**< file of the proposer "llm"; NULL: where it looks itself */
    enum rp_edit_scope scope;
    const char *kernel;     /**< a regular expression; NULL: by what there is to gain */
    const char *check;      /**< as of rp_program_test_run; NULL: the same output */
    unsigned most_attempts; /**< of each kernel and round */
    unsigned most_rounds;   /**< in each of which one change is accepted */
    unsigned most_geometries;
    double least_improvement; /**< 0.02 */
    double budget_s;          /**< the search ends then; 0: no end */
    double timeout_s;         /**< of each run of the program; 0: docs/optimize.md */
    const char *device, *timing;
    const char *compare;                 /**< --compare; NULL: not said */
    struct rp_run_options run;           /**< the same, and what else options say of programs */
    const struct rp_device_identity *on; /**< what that, and the environment, come to */
    struct rp_sandbox_choice sandbox;
    bool resume;  /**< goes on with the journal that is in the folder */
    bool dry_run; /**< candidates are built, not measured */
    bool apply;   /**< the source is replaced at the end, its backup kept */
    void (*progress)(void *context, const char *line); /**< may be NULL */
    /** It is called some times a second while the action of the last line goes on; it may be NULL.
     */
    void (*waiting)(void *context, int64_t elapsed_ns);
    void *context;
};

/** Release it with rp_session_result_free. */
struct rp_session_result {
    json_t *json;           /**< optimize.json ... */
    char *text;             /**< ... as it was written, without the newline at its end */
    size_t accepted, tried; /**< changes */
    bool resumable;         /**< after a failure: --resume could go on */
    bool proposer_failed;   /**< it could not be asked to the end */
    char *source_path;      /**< NAME_opt.ext; NULL: it was not written */
    char *patch_path;
    char *backup_path; /**< of the source that was replaced; NULL: it was not */
    bool was_applied;  /**< the source is the accepted one already: nothing was replaced now */
};

/**
 * @param ret is valid after a failure, too; its json is NULL when no round has begun
 * @return 0, whether or not anything was accepted; RP_USAGE, RP_BAD_INPUT (the program is not of
 * this source, or that cannot be read), RP_ENVIRONMENT, RP_PROGRAM, RP_INTERRUPTED: the session can
 * be resumed
 */
int rp_session_run(const struct rp_session_options *options, struct rp_session_result *ret,
                   struct rp_err *err);
void rp_session_result_free(struct rp_session_result *result);

#endif
