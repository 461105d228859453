/**
 * @file pool.h
 * @brief Workers on GPUs of one model: requests go to whoever is free, answers come as they are
 *        ready.
 */
#ifndef RP_TUNE_POOL_H
#define RP_TUNE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_evaluation;
struct rp_evaluation_request;
struct rp_launcher;
struct rp_tune_pool;
struct rp_worker_hello;

/** "local", "slurm". NULL: there is none of that name. */
const struct rp_launcher *rp_launcher_named(const char *word);

struct rp_tune_pool_options {
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

/**
 * Starts the workers and waits until each has said who it is.
 * @return 0; RP_ENVIRONMENT: one cannot be started, or is of another GPU model, device, model of
 * time or ROCm than the first (which is named); RP_INTERRUPTED; RP_USAGE
 */
int rp_tune_pool_open(const struct rp_tune_pool_options *options, struct rp_tune_pool **ret,
                      struct rp_err *err);

/** Ends the workers and what they run; accepts NULL. */
void rp_tune_pool_close(struct rp_tune_pool *pool);

unsigned rp_tune_pool_workers(const struct rp_tune_pool *pool); /**< that are alive */
/** What all of them are: that of worker 0 as it was started first. */
const struct rp_worker_hello *rp_tune_pool_device(const struct rp_tune_pool *pool);
/** Of one worker, 0 .. as many as were started. */
const struct rp_worker_hello *rp_tune_pool_worker(const struct rp_tune_pool *pool, unsigned worker);

/** Requests that no worker has begun: with 0, and fewer requests than workers, one is free. */
size_t rp_tune_pool_waiting(const struct rp_tune_pool *pool);
/** Requests that have no answer yet, waiting ones included. */
size_t rp_tune_pool_pending(const struct rp_tune_pool *pool);

/**
 * Hands out a request, which is copied. A worker that dies is started again, unless it did so three
 * times in a row without an answer, and what it ran is tried once more: if a second worker dies
 * with it, its answer is FAILED.
 * @return 0 or RP_ENVIRONMENT
 */
int rp_tune_pool_submit(struct rp_tune_pool *pool, const struct rp_evaluation_request *request,
                        struct rp_err *err);

/**
 * The next answer.
 * @param timeout_ms  negative: until there is one
 * @return 1 and an answer; 0: none within that time, or nothing is pending; RP_ENVIRONMENT: no
 * worker is left; RP_INTERRUPTED: a signal, if rp_proc_catch_signals was called before
 */
int rp_tune_pool_next(struct rp_tune_pool *pool, int timeout_ms, struct rp_evaluation *ret,
                      struct rp_err *err);

#endif
