/**
 * @file ci.h
 * @brief What `rocm-perf ci` does with each side of a comparison, and how it decides the gates.
 */
#ifndef RP_CLI_CI_H
#define RP_CLI_CI_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cli/ci_config.h"
#include "cli/cli.h"
#include "report/ci_result.h"
#include "run/git_tree.h"

/** One of the two commits, in a tree of its own. */
struct rp_ci_side {
    const char *word; /**< "base", "head" */
    struct rp_git_tree tree;
    bool built;
};

/** What is the same for all programs. */
struct rp_ci_job {
    const struct rp_ci_config *config;
    const char *self;   /**< path of rocm-perf */
    const char *build;  /**< command; NULL: nothing is built */
    const char *device; /**< --device; NULL: not said */
    const char *timing; /**< --timing; NULL: not said */
    bool software;      /**< what that device is */
    const char *output; /**< absolute path of the folder of the result */
    char *path;         /**< $PATH with a hipcc where there is none; NULL: as it is */
    char *temporary;    /**< $TMPDIR of all that runs: what a killed compiler leaves goes with it */
    struct rp_ci_side base, head;
    struct rp_progress_line line; /**< of what goes on */
    struct rp_ci_result result;
};

/** How a step of a program ended. Initialise it with zeros, and release it with rp_ci_step_free. */
struct rp_ci_step {
    char *failure;  /**< half a sentence in our own words; NULL: it did what was asked for */
    char *evidence; /**< what it said then, of unknown origin; NULL */
};
void rp_ci_step_free(struct rp_ci_step *step);

/** Makes a path of a file of the program's results: DIR/programs/NAME/rest. The caller frees it. */
char *rp_ci_path(const struct rp_ci_job *job, const struct rp_ci_program *p, const char *rest);

/* Steps run commands of this program as children in the tree of a side. Each returns 0, also when
 * the program fails, or RP_ENVIRONMENT or RP_INTERRUPTED. */

/** Puts a hipcc at the end of $PATH where there is none. */
int rp_ci_offer_hipcc(struct rp_ci_job *job, struct rp_err *err);
/** @param ret_log all that the build said; to be freed */
int rp_ci_build(struct rp_ci_job *job, struct rp_ci_side *side, struct rp_ci_step *ret,
                char **ret_log, struct rp_err *err);
/** Says whether the command's program is there: a file of the tree, or one in $PATH. */
bool rp_ci_has_program(const struct rp_ci_side *side, const struct rp_ci_program *p);
/** Profiles it. The result is in the folder DIR/programs/NAME/SIDE. */
int rp_ci_profile(struct rp_ci_job *job, const struct rp_ci_side *side,
                  const struct rp_ci_program *p, struct rp_ci_step *ret, struct rp_err *err);

/** All that a run has put out: standard output, then the files in their order. */
struct rp_ci_outputs {
    struct rp_buf *texts;
    bool *there; /**< of files: it has written them */
    size_t count;
};
void rp_ci_outputs_free(struct rp_ci_outputs *outputs);
int rp_ci_run(struct rp_ci_job *job, const struct rp_ci_side *side, const struct rp_ci_program *p,
              struct rp_ci_step *step, struct rp_ci_outputs *ret, struct rp_err *err);

/** Checks what its kernels do to memory.
 * @param ret as of `run --check-output`; NULL: there is none */
int rp_ci_check(struct rp_ci_job *job, const struct rp_ci_side *side, const struct rp_ci_program *p,
                struct rp_ci_step *step, json_t **ret, struct rp_err *err);
/** Judges the kernels of one of its sources.
 * @param ret judge.json; NULL: there is none */
int rp_ci_judge(struct rp_ci_job *job, const struct rp_ci_program *p, size_t source,
                struct rp_ci_step *step, json_t **ret, struct rp_err *err);

/**
 * Profiles both sides of a program, and decides the gates of its limits.
 * @param no_base why there is nothing to compare with; NULL: there is
 * @param undecided whether that is a fault of the base
 */
int rp_ci_decide_limits(struct rp_ci_job *job, const struct rp_ci_program *p, const char *no_base,
                        bool undecided, struct rp_err *err);
/** Adds all gates of the configuration, skipped so far. */
void rp_ci_list_gates(struct rp_ci_job *job);
/** Decides the gates of one program. */
int rp_ci_decide_program(struct rp_ci_job *job, const struct rp_ci_program *p, struct rp_err *err);
/** Builds both sides, and decides the gates of that. */
int rp_ci_decide_builds(struct rp_ci_job *job, struct rp_err *err);

#endif
