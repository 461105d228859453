/**
 * @file self.h
 * @brief Other commands of rocm-perf as children, on the device and with the timing of the session.
 */
#ifndef RP_OPTIMIZE_SELF_H
#define RP_OPTIMIZE_SELF_H

#include "optimize/patience.h"

struct rp_err;
struct rp_measure;
struct rp_proc_end;

struct rp_self {
    const char *const *words; /**< the command and its options; NULL-terminated */
    const char *program;      /**< behind `--` instead of the first word of measure->program, with
                                   the others; NULL: the command takes none */
    const char *stdout_path, *stderr_path; /**< as of rp_child */
    enum rp_runs what;
};

/** rocm-perf WORDS [--device D] [--timing T] [-- PROGRAM ARGS]; free it. NULL: no memory. */
const char **rp_self_argv(const struct rp_measure *measure, const char *const *words,
                          const char *program);

/** @return as rp_child_run; RP_VERDICT when the time of --budget was over before it had ended */
int rp_self_run(const struct rp_measure *measure, const struct rp_self *self,
                struct rp_proc_end *ret, struct rp_err *err);

#endif
