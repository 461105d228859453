/**
 * @file worker_protocol.h
 * @brief What is asked of a worker, and what it answers: one configuration, built, run some times,
 *        timed and checked. Each is one line of JSON.
 */
#ifndef RP_TUNE_WORKER_PROTOCOL_H
#define RP_TUNE_WORKER_PROTOCOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "experiment/measured_run.h"
#include "run/run_options.h"
#include "tune/command_template.h"

struct rp_buf;
struct rp_err;
struct rp_worker_hello;

/** "ok", "failed", ...; static. */
const char *rp_evaluation_outcome_word(enum rp_evaluation_outcome outcome);

/**
 * Appends one line, with its newline. Words and texts may be any bytes: what is not UTF-8 is
 * written in base 16.
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

/* Members of JSON objects that workers and their pool exchange: words of a command may be
 * any bytes but zeros, which JSON strings are not.
 */

/** A string, or {"base16": "61ff"} for what is not UTF-8. NULL: out of memory. */
json_t *rp_json_of_text(const char *text);

/** Appends the value and a newline, takes it over. @param value  NULL: out of memory */
int rp_json_write_line(json_t *value, struct rp_buf *to, struct rp_err *err);
/** @return the object in the line; NULL with a message: it is none */
json_t *rp_json_read_line(const char *line, size_t bytes, struct rp_err *err);

/** @param ret  owned; NULL when it is null or not there, which is an error if it is needed */
int rp_json_take_text(const json_t *object, const char *key, bool needed, char **ret,
                      struct rp_err *err);

/* `rocm-perf autotune --worker`: one GPU that runs configurations. Says who it is, then
 *        answers requests, a line of JSON each, until its input ends.
 */

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

/* Workers on GPUs of one model: requests go to whoever is free, answers come as they are
 *        ready.
 */

#endif
