/**
 * @file worker_pool.h
 * @brief Workers on GPUs of one model: requests go to whoever is free, answers come as they are
 *        ready.
 */
#ifndef RP_TUNE_WORKER_POOL_H
#define RP_TUNE_WORKER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "tune/launchers.h"
#include "tune/worker.h"

struct rp_err;
struct rp_evaluation;
struct rp_evaluation_request;
struct rp_tune_pool;
struct rp_worker_hello;

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

/* One worker of a pool: its process, what it is running, what is on its way to it. */

enum rp_slot_state {
    RP_SLOT_GONE = 0, /**< it is not started again */
    RP_SLOT_STARTING, /**< it has not said hello */
    RP_SLOT_IDLE,
    RP_SLOT_BUSY,
};

/** What came from a worker. */
enum rp_slot_event {
    RP_SLOT_NOTHING = 0,
    RP_SLOT_HELLO,  /**< slot->hello */
    RP_SLOT_ANSWER, /**< its job is done */
    RP_SLOT_DIED,   /**< slot->why */
};

#endif
