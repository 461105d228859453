/**
 * @file session.h
 * @brief From a program and its source to a better source, or to the knowledge that nothing was
 *        worth keeping. docs/optimize.md says what is done in which order.
 */
#ifndef RP_OPTIMIZE_SESSION_H
#define RP_OPTIMIZE_SESSION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "optimize/compile_command.h"
#include "optimize/guard.h"
#include "optimize/proposer.h"

struct rp_err;

struct rp_session_options {
    const char *self;     /**< path of rocm-perf */
    char *const *program; /**< the user's command line, NULL-terminated */
    const char *source;   /**< the file with the kernels */
    struct rp_build_choice build;
    const char *folder; /**< of the session: journal, captures, candidates, optimize.json */
    const struct rp_proposer *proposer;
    const char *llm_settings; /**< file of the proposer "llm"; NULL: where it looks itself */
    enum rp_edit_scope scope;
    const char *kernel;     /**< a regular expression; NULL: by what there is to gain */
    const char *check;      /**< as of rp_application_run; NULL: the same output */
    unsigned most_attempts; /**< of each kernel and round */
    unsigned most_rounds;   /**< in each of which one change is accepted */
    unsigned most_geometries;
    double least_improvement; /**< 0.02 */
    double budget_s;          /**< nothing new is begun after it; 0: no end */
    const char *device, *timing;
    bool resume;  /**< goes on with the journal that is in the folder */
    bool dry_run; /**< candidates are built, not measured */
    bool apply;   /**< the source is replaced at the end, its backup kept */
    void (*progress)(void *context, const char *line); /**< may be NULL */
    void *context;
};

/** Release with rp_session_result_free. */
struct rp_session_result {
    json_t *json; /**< optimize.json */
    size_t accepted;
    char *json_path;
    char *source_path; /**< NAME_opt.ext; NULL: nothing was accepted */
    char *patch_path;
    char *backup_path; /**< of the source that was replaced; NULL: it was not */
};

/**
 * @return 0, whether or not anything was accepted; RP_USAGE, RP_BAD_INPUT (the program is not of
 *         this source), RP_ENVIRONMENT, RP_PROGRAM, RP_INTERRUPTED: the session can be resumed
 */
int rp_session_run(const struct rp_session_options *options, struct rp_session_result *ret,
                   struct rp_err *err);
void rp_session_result_free(struct rp_session_result *result);

#endif
