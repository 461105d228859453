/**
 * @file child_run.h
 * @brief Everything that runs for a candidate runs in a child with limits; what it says goes to
 *        files, and what it reads is empty: each run has the same input, and none waits for a
 *        terminal that is not its own.
 */
#ifndef RP_EXPERIMENT_CHILD_RUN_H
#define RP_EXPERIMENT_CHILD_RUN_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/process.h"
#include "experiment/verdict.h"

struct rp_environment;
struct rp_run_options;
struct rp_err;
struct rp_child_context;
struct rp_proc_end;

struct rp_child {
    const char *const *argv; /**< NULL-terminated; the first is a path, or stands in $PATH */
    const struct rp_env_change *env; /**< may be NULL */
    const char *directory;           /**< to run in; NULL: here */
    const char *stdin_path;          /**< NULL: nothing to read */
    const char *stdout_path;         /**< written anew; NULL: nowhere */
    const char *stderr_path;         /**< likewise; may be stdout_path */
    int64_t timeout_ns;
    struct rp_proc_limits limits;
    const struct rp_environment *compiler_of; /**< it may be this one's compiler, whose results are
                                               * kept (run/hip_compiler.h); NULL: no compiler */
    bool again;                               /**< as of rp_compiler_run */
    void (*waiting)(void *context, int64_t elapsed_ns); /**< as of rp_proc */
    void *context;
};

/** Of compilers, and of programs on a device, whose reservations of addresses are huge. */
struct rp_proc_limits rp_compiler_limits(void);
struct rp_proc_limits rp_program_limits(void);

/** @return as rp_proc_run */
int rp_child_run(const struct rp_child *child, struct rp_proc_end *ret, struct rp_err *err);

/** The beginning of a file and, when it is longer than most_bytes, its end, without ROCr's lines
 * about leaks of its own. NULL: unreadable. */
char *rp_child_text(const char *path, size_t most_bytes);

/** Lines as one, for a message: " | " between them, without blank ones. Characters that control a
 * terminal are blanks. Free it. */
char *rp_text_join_lines(const char *text);

/** @return how many bytes of a text to show, so that no character of UTF-8 is cut */
size_t rp_text_fitting_bytes(const char *text, size_t most_bytes);

/** The last lines of a file, six at most, as one; "" when it cannot be read. Free it. */
char *rp_child_last_lines(const char *path);

/** How it ended, half a sentence: "it ended with exit status 3". Free it. */
char *rp_child_end_sentence(const struct rp_proc_end *end);

/* How long programs of a session may take, and what its user sees meanwhile. */

/** What runs. */
enum rp_run_kind {
    RP_RUN_KIND_ORIGINAL, /**< the program with the best source so far */
    RP_RUN_KIND_TRACED,   /**< the same under something that makes it slow: a deep profile, captures
                           */
    RP_RUN_KIND_CANDIDATE, /**< the program with a candidate */
    RP_RUN_KIND_REPLAY /**< no program but `replay compare`: what it finds is not for its time */
};

struct rp_run_deadline {
    int64_t timeout_ns; /**< --timeout: of each run of the program; 0: not said */
    int64_t end_ns;     /**< of --budget, on CLOCK_MONOTONIC; 0: none */
    int64_t longest_ns; /**< that RP_RUN_KIND_ORIGINAL took; 0: not known */
    bool modelled;      /**< times are: how long a run takes is a matter of this machine only */
    bool by_budget; /**< what the last rp_run_deadline_left_ns said is what the budget has left */
    bool over;      /**< a child was ended by the budget */
    void (*waiting)(void *context, int64_t elapsed_ns); /**< while a child runs; may be NULL */
    void *context;
};

/** Of CLOCK_MONOTONIC. */
int64_t rp_monotonic_ns(void);

/** @return what a run that begins now may take, at least 1 ns */
int64_t rp_run_deadline_left_ns(struct rp_run_deadline *patience, enum rp_run_kind what);

/**
 * What to make of the end of the run for which rp_run_deadline_left_ns was asked last.
 * @return 0; RP_VERDICT when the budget has ended it: that says nothing about what ran;
 *         RP_ENVIRONMENT: a comparison that this machine could not make in time
 */
int rp_run_deadline_judge_end(struct rp_run_deadline *patience, enum rp_run_kind what,
                              const struct rp_proc_end *end, struct rp_err *err);

/** How long a program was waited for, half a sentence, the same each time: "within the 5 s of
 * --timeout". Free it. */
char *rp_run_deadline_sentence(const struct rp_run_deadline *patience, enum rp_run_kind what);

/* Other commands of rocm-perf as children, on the device and with the timing of the session. */

/* Real dispatches of a kernel, captured once, and two builds of it compared on each of them:
 *        by children (`rocm-perf isolate`, `rocm-perf replay compare`), so that nothing of a
 *        candidate runs in this process.
 */

/** How children are started. */
struct rp_child_context {
    const char *self;                 /**< path of rocm-perf */
    const char *device;               /**< --device; NULL: not said */
    const char *timing;               /**< --timing; NULL: not said */
    const struct rp_run_options *run; /**< what options say of how programs run; may be NULL */
    const char *folder;               /**< for what children say; exists */
    const char *input;                /**< path of its standard input; NULL: /dev/null */
    char *const *program;             /**< the user's command line, NULL-terminated */
    int status;                       /**< the exit status that it ends with */
    struct rp_run_deadline *patience; /**< changed by each run */
    unsigned most_geometries;
    double least_improvement; /**< 0.02 */
};

struct rp_own_command {
    const char *const *words; /**< the command and its options; NULL-terminated */
    const char *program;      /**< behind `--` instead of the first word of measure->program, with
                                   the others; NULL: the command takes none */
    const char *stdout_path, *stderr_path; /**< as of rp_child */
    enum rp_run_kind what;
};

/** rocm-perf WORDS [--device D] [--timing T] [-- PROGRAM ARGS]; free it. NULL: no memory. */
const char **rp_own_command_argv(const struct rp_child_context *measure, const char *const *words,
                                 const char *program);

/** @return as rp_child_run; RP_VERDICT when the time of --budget was over before it had ended */
int rp_own_command_run(const struct rp_child_context *measure, const struct rp_own_command *self,
                       struct rp_proc_end *ret, struct rp_err *err);

/* What a program said about its end, cut to one line that may be printed. */

/**
 * The line of a log that says most: the first with "error" or a memory access fault, else the last
 * that is not empty, nor about ROCr's own leaks; UTF-8 without control characters, cut to some 200
 * bytes.
 * @return owned; NULL: it has none
 */
char *rp_child_error_line(const char *path);

/** Puts that line behind a reason, which is owned: "REASON: LINE". Stays as it is where there is
 * none, or no memory. */
void rp_child_add_error_line(char **why, const char *log_path);

/** "ended with exit status 3: LINE", "was ended by SIGSEGV". Owned. */
char *rp_child_end_reason(const struct rp_proc_end *end, const char *log_path);

/* What a program prints, in files that cannot fill the disk: a configuration may print for
 * ever.
 */

enum { RP_TAPS = 2 }; /**< standard output, standard error */

struct rp_output_limiter {
    int fds[RP_TAPS];   /**< for the program: pipes, which a thread reads until close */
    bool over[RP_TAPS]; /**< valid after close: it printed more, and the rest is gone */

    size_t left_bytes[RP_TAPS];
    int pipes[RP_TAPS], files[RP_TAPS], stop;
    pthread_t thread;
};

/**
 * @param paths       files, written anew
 * @param most_bytes  of each
 * @return 0, RP_ENVIRONMENT
 */
int rp_output_limiter_open(const char *const paths[RP_TAPS], size_t most_bytes,
                           struct rp_output_limiter *ret, struct rp_err *err);

/** After the program and all that it started have ended: the files are whole then. Who prints all
 * the same is not waited for. */
void rp_output_limiter_close(struct rp_output_limiter *tap);

#endif
