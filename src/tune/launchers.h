/**
 * @file launchers.h
 * @brief How workers are started: on this machine, or as steps of Slurm.
 */
#ifndef RP_TUNE_LAUNCHERS_H
#define RP_TUNE_LAUNCHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "run/run_options.h"

struct rp_err;
struct rp_tune_pool_options;

/* Workers on GPUs of one model: requests go to whoever is free, answers come as they are
 *        ready.
 */

struct rp_tune_pool_options {
    struct rp_run_options run; /**< of programs, as far as options say it; workers are told so */
    const struct rp_launcher *launcher; /**< NULL: local */
    /** What a worker is, NULL-terminated: {rocm-perf, "autotune", "--worker", "--device", "gpu"}.
     */
    const char *const *worker;
    /** local: one worker for each, with it as ROCR_VISIBLE_DEVICES; NULL-terminated. NULL:
     * `workers` of them, which see all that there is (the software device). */
    const char *const *gpus;
    /** Without gpus: how many; 0 is 1. slurm: how many steps; 0: one per task of the allocation
     * that we are in. */
    unsigned workers;
    /** slurm: words for srun of each step ("--gpus=1") and, outside of an allocation, for the
     * srun of the one allocation ("--partition=mi300"). NULL-terminated, or NULL: none. Nothing
     * is asked for by itself: GPUs neither. */
    const char *const *step_words, *const *allocation_words;
    int64_t start_timeout_ns; /**< until all workers have said hello; 0: 10 minutes */
    void (*note)(void *context, const char *line); /**< what happened to a worker; NULL: nobody */
    void *context;
}; /* what it points to must last as long as the pool */

/** A child of this process, in a process group of its own. */
struct rp_launched {
    pid_t pid;
    int fd; /**< a socket, which does not wait: its standard input and output */
};

struct rp_launcher {
    const char *word;
    /** @param ret_workers  how many to start, at least 1. @return 0, RP_ENVIRONMENT, RP_USAGE ...
     */
    int (*open)(const struct rp_tune_pool_options *options, void **ret_state, unsigned *ret_workers,
                struct rp_err *err);
    /** @param number  from 0 on; the same again after it has died */
    int (*start)(void *state, unsigned number, struct rp_launched *ret, struct rp_err *err);
    /** After all workers have ended. Accepts what open has left when it failed: NULL. */
    void (*close)(void *state);
};

#define RP_LAUNCHER(id, word) extern const struct rp_launcher rp_launcher_##word;
#include "tune/launchers.def"
#undef RP_LAUNCHER

/** "local", "slurm". NULL: there is none of that name. */
const struct rp_launcher *rp_launcher_named(const char *word);

#endif
