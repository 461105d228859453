/**
 * @file evaluation.h
 * @brief What is asked of a worker, and what it answers: one configuration, built, run some times,
 *        timed and checked. Each is one line of JSON.
 */
#ifndef RP_TUNE_EVALUATION_H
#define RP_TUNE_EVALUATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tune/template.h"

struct rp_buf;
struct rp_err;

/** What the runtime is. */
enum rp_objective {
    RP_OBJECTIVE_DISPATCH = 0, /**< sum of (end - start) over the dispatches of a traced run */
    RP_OBJECTIVE_WALL,         /**< the process, start to end; not traced */
    RP_OBJECTIVE_OUTPUT,       /**< a number that the program prints; not traced */
};

enum { RP_EVALUATION_MOST_RUNS = 10000 };

/** Owned when it was parsed: release with rp_evaluation_request_free. */
struct rp_evaluation_request {
    uint64_t id;               /**< the answer has the same one */
    struct rp_command command; /**< what to run; it may name build_output */

    struct rp_command build; /**< argv NULL: nothing is built */
    char *build_output; /**< path of the program that the build makes, in a folder that all workers
                             see. One name is one program: once it has been built there, it is not
                             built again (rp_build_output in build_cache.h makes the name) */
    int64_t build_timeout_ns;

    enum rp_objective objective;
    char *pattern;  /**< OUTPUT: extended regular expression; group 1 (without groups: all of it) of
                         its last match in a line of standard output is the number */
    double unit_ns; /**< OUTPUT: ns of one; 1e6 when the program prints ms */

    char *check; /**< NULL, or a command for /bin/sh: 0 means right. Its standard input is what the
                      program printed; ROCM_PERF_PROGRAM, ROCM_PERF_STATUS are set. Asked once */

    char *input; /**< absolute path of what each run has as standard input; NULL: nothing */

    int64_t timeout_ns;        /**< of each run, and of the check; above 0 */
    int64_t warmup_timeout_ns; /**< of each warm-up; 0: as of others */
    uint64_t memory_bytes;     /**< resident, of all that a run starts together; 0: no limit */
    unsigned warmups;          /**< runs before, whose times do not count */
    unsigned samples;          /**< runs that count; with warmups at most RP_EVALUATION_MOST_RUNS */
};

enum rp_evaluation_outcome {
#define RP_OUTCOME(id, word) RP_EVALUATION_##id,
#include "tune/evaluation_outcomes.def"
#undef RP_OUTCOME
};

/** "ok", "failed", ...; static. */
const char *rp_evaluation_outcome_word(enum rp_evaluation_outcome outcome);

/** Owned; release with rp_evaluation_free. */
struct rp_evaluation {
    uint64_t id;
    enum rp_evaluation_outcome outcome;
    char *reason; /**< half a sentence for people, UTF-8 in one line; NULL when OK */

    double *runtimes_ns; /**< one per sample that came to its end; all of them when OK. Above 0 */
    size_t count;

    bool signaled;  /**< FAILED: by a signal */
    int status;     /**< FAILED, NOT_BUILT: exit status, or the signal's number */
    int64_t cap_ns; /**< TIMEOUT: the wall time that the run had */

    bool built;        /**< the build command ran; it does not for what has been built before */
    int64_t build_ns;  /**< what that took */
    int64_t bench_ns;  /**< wall time of all runs, warm-up included */
    int64_t warmup_ns; /**< of that: warm-ups */

    unsigned worker; /**< whose answer: filled in by the pool, not in JSON */
};

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

/** Accept zeros. */
void rp_evaluation_request_free(struct rp_evaluation_request *request);
void rp_evaluation_free(struct rp_evaluation *evaluation);

#endif
