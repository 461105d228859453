/**
 * @file worker.h
 * @brief Does `rocm-perf autotune --worker`: it runs configurations on one GPU. It describes
 * itself, and then answers requests, a line of JSON each, until its input ends.
 */
#ifndef RP_TUNE_WORKER_H
#define RP_TUNE_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "experiment/measured_run.h"
#include "run/run_options.h"

struct rp_buf;
struct rp_err;

struct rp_worker_options {
    struct rp_run_options run; /**< the user's wish */
    const char *version;       /**< of rocm-perf */
};

/**
 * Serves standard input and output, which the programs do not get. SIGTERM, or the end of the
 * parent, ends the program that runs, and the worker.
 * @return 0 at the end of input; RP_BAD_INPUT: a line that is no request; RP_INTERRUPTED;
 * RP_ENVIRONMENT: no device, no ROCm, nobody reads
 */
int rp_worker_serve(const struct rp_worker_options *options, struct rp_err *err);

/* The protocol says what a worker is asked, and what it answers: one configuration is built, run
 * some times, timed and checked. Each message is one line of JSON. */

/** Returns "ok", "failed", ...; the text is static. */
const char *rp_evaluation_outcome_word(enum rp_evaluation_outcome outcome);
/** Returns "dispatch", "wall" or "output"; the text is static. */
const char *rp_objective_word(enum rp_objective objective);

/**
 * Appends one line, with its newline. Words and texts may be any bytes: those that are not UTF-8
 * are written in base 16.
 * @return 0 or RP_ENVIRONMENT
 */
int rp_evaluation_request_write(const struct rp_evaluation_request *request, struct rp_buf *to,
                                struct rp_err *err);
int rp_evaluation_write(const struct rp_evaluation *evaluation, struct rp_buf *to,
                        struct rp_err *err);

/** @return 0; RP_BAD_INPUT: what is wrong with the line; RP_ENVIRONMENT */
int rp_evaluation_request_parse(const char *line, size_t bytes, struct rp_evaluation_request *ret,
                                struct rp_err *err);
int rp_evaluation_parse(const char *line, size_t bytes, struct rp_evaluation *ret,
                        struct rp_err *err);

enum { RP_WORKER_PROTOCOL = 1 };

/** This is the first line of a worker. Release it with rp_worker_hello_free. */
struct rp_worker_hello {
    int protocol;
    char *version; /**< of rocm-perf */
    char *host;
    int64_t pid;
    struct rp_device_identity on;
    char *visible; /**< ROCR_VISIBLE_DEVICES; "": all */
};

int rp_worker_hello_write(const struct rp_worker_hello *hello, struct rp_buf *to,
                          struct rp_err *err);
int rp_worker_hello_parse(const char *line, size_t bytes, struct rp_worker_hello *ret,
                          struct rp_err *err);
void rp_worker_hello_free(struct rp_worker_hello *hello);

/** Reads {"fatal": why}, the last line of a worker.
 * @return NULL: it is another line; the caller owns it */
char *rp_worker_fatal_of(const char *line, size_t bytes);

#endif
