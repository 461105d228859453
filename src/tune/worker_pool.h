/**
 * @file worker_pool.h
 * @brief Runs workers on GPUs of one model: requests go to a free worker, and answers come as they
 * are ready.
 */
#ifndef RP_TUNE_WORKER_POOL_H
#define RP_TUNE_WORKER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "experiment/measured_run.h"
#include "run/run_program.h"

struct rp_buf;
struct rp_err;
struct rp_evaluation;
struct rp_evaluation_request;
struct rp_tune_pool;
struct rp_worker_hello;

/* Does `rocm-perf autotune --worker`: it runs configurations on one GPU. It describes
 * itself, and then answers requests, a line of JSON each, until its input ends.
 */

/** This is the first line of a worker. Release it with rp_worker_hello_free. */
struct rp_worker_hello {
    int protocol;
    char *version; /**< of rocm-perf */
    char *host;
    int64_t pid;
    struct rp_device_identity on;
    char *visible; /**< ROCR_VISIBLE_DEVICES; "": all */
};

struct rp_tune_pool_options {
    struct rp_run_options run; /**< of programs, as far as options say it; workers are told so */
    const struct rp_launcher *launcher; /**< NULL: local */
    /** Each worker runs this, NULL-terminated: {rocm-perf, "autotune", "--worker", "--quiet",
     * "--device", "gpu"}. */
    const char *const *worker;
    /** local starts one worker for each, with it as ROCR_VISIBLE_DEVICES. The list is
     * NULL-terminated. With NULL it starts `workers` of them, which see all that there is (the
     * software device). */
    const char *const *gpus;
    /** Without gpus this is the number of workers; 0 is 1. For slurm it is the number of steps; 0
     * means one per task of the allocation that we are in. */
    unsigned workers;
    /** slurm takes these words for srun of each step ("--gpus=1") and, outside of an allocation,
     * for the srun of the one allocation ("--partition=mi300"). They are NULL-terminated; NULL
     * means none. Nothing is asked for by itself, not even GPUs. */
    const char *const *step_words, *const *allocation_words;
    int64_t start_timeout_ns; /**< until all workers have said hello; 0: 10 minutes */
    void (*note)(void *context, const char *line); /**< what happened to a worker; NULL: nobody */
    void *context;
}; /* Everything that it points to must last as long as the pool. */

/** This is a child of this process, in a process group of its own. */
struct rp_launched {
    pid_t pid;
    int fd; /**< a socket, which does not wait: its standard input and output */
};

struct rp_launcher {
    const char *word;
    /** @param ret_workers how many to start, at least 1
     * @return 0, RP_ENVIRONMENT, RP_USAGE ... */
    int (*open)(const struct rp_tune_pool_options *options, void **ret_state, unsigned *ret_workers,
                struct rp_err *err);
    /** @param number from 0 on; the same again after a worker has died */
    int (*start)(void *state, unsigned number, struct rp_launched *ret, struct rp_err *err);
    /** It is called after all workers have ended. It accepts what open has left when it failed:
     * NULL. */
    void (*close)(void *state);
};

#define RP_LAUNCHER(id, word) extern const struct rp_launcher rp_launcher_##word;
#include "tune/launchers.def"
#undef RP_LAUNCHER

/** Finds "local" or "slurm". NULL means that none has that name. */
const struct rp_launcher *rp_launcher_named(const char *word);

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
/** Describes all of them by worker 0, as it was when it was started first. */
const struct rp_worker_hello *rp_tune_pool_device(const struct rp_tune_pool *pool);
/**
 * Hands out a request, which is copied. A worker that dies is started again, unless it did so three
 * times in a row without an answer, and its job is tried once more. If a second worker dies with
 * that job, its answer is FAILED.
 * @return 0 or RP_ENVIRONMENT
 */
int rp_tune_pool_submit(struct rp_tune_pool *pool, const struct rp_evaluation_request *request,
                        struct rp_err *err);

/**
 * Waits for the next answer.
 * @param timeout_ms negative: until there is one
 * @return 1 and an answer; 0: none within that time, or nothing is pending; RP_ENVIRONMENT: no
 * worker is left; RP_INTERRUPTED: a signal, if rp_proc_catch_signals was called before
 */
int rp_tune_pool_next(struct rp_tune_pool *pool, int timeout_ms, struct rp_evaluation *ret,
                      struct rp_err *err);

struct rp_worker_options {
    struct rp_run_options run; /**< the user's wish */
    const char *version;       /**< of rocm-perf */
};

/**
 * Serves standard input and output, which the programs do not get. SIGTERM, or the end of the
 * parent, ends the program that runs, and the worker.
 * @param ret_told set on failure, too: the pool was told why, and says it
 * @return 0 at the end of input; RP_BAD_INPUT: a line that is no request; RP_INTERRUPTED;
 * RP_ENVIRONMENT: no device, no ROCm, nobody reads
 */
int rp_worker_serve(const struct rp_worker_options *options, bool *ret_told, struct rp_err *err);

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

int rp_worker_hello_write(const struct rp_worker_hello *hello, struct rp_buf *to,
                          struct rp_err *err);
int rp_worker_hello_parse(const char *line, size_t bytes, struct rp_worker_hello *ret,
                          struct rp_err *err);
void rp_worker_hello_free(struct rp_worker_hello *hello);

/** Reads {"fatal": why}, the last line of a worker.
 * @return NULL: it is another line; the caller owns it */
char *rp_worker_fatal_of(const char *line, size_t bytes);

#endif
