/**
 * @file worker.h
 * @brief `rocm-perf autotune --worker`: one GPU that runs configurations. Says who it is, then
 *        answers requests, a line of JSON each, until its input ends.
 */
#ifndef RP_TUNE_WORKER_H
#define RP_TUNE_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/run_options.h"

struct rp_err;

struct rp_worker_options {
    struct rp_run_options run; /**< the user's wish */
    const char *version;       /**< of rocm-perf */
};

/**
 * Serves standard input and output; nothing of the programs gets there. SIGTERM, or the end of the
 * parent, ends the program that runs, and the worker.
 * @return 0 at the end of input; RP_BAD_INPUT: a line that is no request; RP_INTERRUPTED;
 *         RP_ENVIRONMENT: no device, no ROCm, nobody reads
 */
int rp_worker_serve(const struct rp_worker_options *options, struct rp_err *err);

/* Where a worker keeps traces and outputs: gone when it ends, or when the next one begins. */

#endif
