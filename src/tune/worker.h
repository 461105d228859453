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

#include "collect/device_identity.h"
#include "collect/environment.h"

struct rp_buf;
struct rp_err;

enum { RP_WORKER_PROTOCOL = 1 };

/** The first line that a worker says. Owned; release with rp_worker_hello_free. */
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

/** Why times of both must not be compared: "is a gfx90a (...), not a gfx942 (...)"; NULL: they may
 *  be. Owned. */
char *rp_worker_hello_differs(const struct rp_worker_hello *a, const struct rp_worker_hello *b);

/** Would both run on the same GPU? */
bool rp_worker_hello_shares(const struct rp_worker_hello *a, const struct rp_worker_hello *b);

struct rp_worker_options {
    enum rp_device device; /**< the user's wish */
    const char *version;   /**< of rocm-perf */
};

/**
 * Serves standard input and output; nothing of the programs gets there. SIGTERM, or the end of the
 * parent, ends the program that runs, and the worker.
 * @return 0 at the end of input; RP_BAD_INPUT: a line that is no request; RP_INTERRUPTED;
 *         RP_ENVIRONMENT: no device, no ROCm, nobody reads
 */
int rp_worker_serve(const struct rp_worker_options *options, struct rp_err *err);

#endif
