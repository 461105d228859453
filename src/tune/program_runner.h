/**
 * @file program_runner.h
 * @brief Runs programs for a search: it fills commands from templates, and gives them to the
 * workers of a pool.
 */
#ifndef RP_TUNE_PROGRAM_RUNNER_H
#define RP_TUNE_PROGRAM_RUNNER_H

#include <stddef.h>
#include <stdint.h>

#include "experiment/measured_run.h"
#include "run/run_program.h"
#include "tune/search.h"
#include "tune/worker_pool.h"

struct rp_err;
struct rp_space;

/** Templates are texts with {NAME} where the values of a configuration go. */
enum rp_template_flags {
    RP_TEMPLATE_SHELL = 1,       /**< --shell */
    RP_TEMPLATE_ENVIRONMENT = 2, /**< --env: each parameter is an environment variable, too */
    RP_TEMPLATE_OUTPUT = 4,      /**< {output} is the program that a build command makes */
    RP_TEMPLATE_PART = 8,        /**< another template may have the parameters that are not in it */
};

struct rp_program_runner_options {
    const struct rp_space *space; /**< has to live as long, as all texts have */
    const char *command;          /**< template of what is run */
    const char *build;            /**< template of what makes {output} first; NULL: nothing does */
    unsigned flags;               /**< of enum rp_template_flags: SHELL, ENVIRONMENT */
    const char *build_folder;     /**< absolute; programs that were built; with build only */
    const char *input;            /**< absolute; standard input of each run; NULL: nothing */
    const char *check;            /**< NULL: whatever the program prints is right */
    enum rp_objective objective;
    const struct rp_objectives *objectives; /**< numbers that are wanted of each run; NULL: none */
    const char *pattern;                    /**< OUTPUT */
    double unit_ns;                         /**< OUTPUT */
    uint64_t memory_bytes;
    struct rp_tune_pool_options pool;
};

/**
 * Checks that templates fit the space: every placeholder is a parameter, and every parameter with
 * several values is in one of them.
 * @return 0; RP_USAGE; RP_ENVIRONMENT
 */
int rp_program_runner_check(const struct rp_program_runner_options *options, struct rp_err *err);

/** Checks that workers on this machine will have their device, before anything is made for them.
 * @return 0; RP_USAGE; RP_ENVIRONMENT */
int rp_program_runner_check_device(const struct rp_program_runner_options *options,
                                   struct rp_err *err);

/** Starts the workers. Closing the runner ends them.
 * @return 0; RP_USAGE; RP_ENVIRONMENT; RP_INTERRUPTED */
int rp_program_runner_open(const struct rp_program_runner_options *options, struct rp_runner *ret,
                           struct rp_err *err);
/* `--gpus all` means a worker for each GPU, where all GPUs are of one model. */

/**
 * Lists all GPUs of this machine that ROCR_VISIBLE_DEVICES leaves us, or those of the software
 * device: "0,1,2".
 * @param wish not resolved
 * @param ret owned
 * @return 0; RP_ENVIRONMENT: there is none, or they are of several models, which are named
 */
int rp_gpu_choice(const struct rp_run_options *wish, char **ret, struct rp_err *err);

#endif
