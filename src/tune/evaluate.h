/**
 * @file evaluate.h
 * @brief Builds, runs, times and checks one configuration on the device of this process.
 */
#ifndef RP_TUNE_EVALUATE_H
#define RP_TUNE_EVALUATE_H

#include "collect/environment.h"

struct rp_orphans;
struct rp_command;
struct rp_err;
struct rp_evaluation;
struct rp_evaluation_request;
struct rp_proc_end;
struct rp_proc_limits;
struct rp_tracer;

struct rp_evaluator {
    const struct rp_environment *env;
    enum rp_device device;            /**< resolved */
    const struct rp_tracer *tracer;   /**< of runs whose dispatches are timed */
    const char *folder;               /**< for traces and outputs: made and emptied for each run */
    const struct rp_orphans *adopted; /**< since when processes are those of a program */
};

/**
 * Whatever becomes of the program is an outcome. All that it has started has ended afterwards.
 * @return 0; RP_ENVIRONMENT: the fault is this machine's (no disk space, the wrong device);
 *         RP_INTERRUPTED
 */
int rp_evaluate(const struct rp_evaluator *evaluator, const struct rp_evaluation_request *request,
                struct rp_evaluation *ret, struct rp_err *err);

/** Part of it: a command that is no program to be timed; what it says goes to log. @return as
 * rp_proc_run */
int rp_evaluate_command(const struct rp_evaluator *evaluator, const struct rp_command *command,
                        int64_t timeout_ns, const struct rp_proc_limits *limits, const char *log,
                        struct rp_proc_end *ret, struct rp_err *err);

#endif
