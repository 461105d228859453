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
#include "base/sandbox.h"
#include "experiment/build_command.h"
#include "experiment/judge.h"

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
    uint64_t most_bytes; /**< of each file that it prints to, about: what prints for ever is killed;
                            0: as many as the disk has */
    struct rp_proc_limits limits;
    const struct rp_sandbox *sandbox;         /**< its box (base/box.h) is made anew; NULL: none */
    const struct rp_environment *compiler_of; /**< it may be this one's compiler, whose results are
                                               * kept (run/hip_compiler.h); NULL: no compiler */
    bool again;                               /**< as of rp_compiler_run */
    void (*waiting)(void *context, int64_t elapsed_ns); /**< as of rp_proc */
    void *context;
};

/** These limits are for compilers, and for programs on a device, whose reservations of addresses
 * are huge. */
struct rp_proc_limits rp_compiler_limits(void);
struct rp_proc_limits rp_program_limits(void);

/** Runs a child.
 * @return as rp_proc_run */
int rp_child_run(const struct rp_child *child, struct rp_proc_end *ret, struct rp_err *err);

/** Returns the beginning of a file and, when it is longer than most_bytes, its end, without ROCr's
 * lines about leaks of its own. It returns NULL when the file is unreadable. */
char *rp_child_text(const char *path, size_t most_bytes);

/** Joins lines for a message, with " | " between them and without blank ones. Characters that
 * control a terminal become blanks. The caller frees it. */
char *rp_text_join_lines(const char *text);

/** @return how many bytes of a text to show without cutting a character of UTF-8 */
size_t rp_text_fitting_bytes(const char *text, size_t most_bytes);

/** Joins the last lines of a file, six at most. It is "" when the file cannot be read. The caller
 * frees it. */
char *rp_child_last_lines(const char *path);

/** Says how it ended, as half a sentence: "it ended with exit status 3". The caller frees it. */
char *rp_child_end_sentence(const struct rp_proc_end *end);

/* This section decides how long programs of a session may take, and what its user sees meanwhile.
 */

/** Says what runs. */
enum rp_run_kind {
    RP_RUN_KIND_ORIGINAL, /**< the program with the best source so far */
    RP_RUN_KIND_TRACED,   /**< the same under something that makes it slow: a deep profile, captures
                           */
    RP_RUN_KIND_CANDIDATE, /**< the program with a candidate */
    RP_RUN_KIND_REPLAY /**< no program but `replay compare`: what it finds is not for its time */
};

struct rp_run_deadline {
    int64_t timeout_ns; /**< --timeout: of each run of the program; 0: not said */
    int64_t end_ns;     /**< of --budget, as rp_now_ns counts; 0: none */
    int64_t longest_ns; /**< that RP_RUN_KIND_ORIGINAL took; 0: not known */
    bool modelled;      /**< times are: how long a run takes is a matter of this machine only */
    bool by_budget; /**< what the last rp_run_deadline_left_ns said is what the budget has left */
    bool over;      /**< a child was ended by the budget */
    void (*waiting)(void *context, int64_t elapsed_ns); /**< while a child runs; may be NULL */
    void *context;
};

/** @return how long a run that begins now may take, at least 1 ns */
int64_t rp_run_deadline_left_ns(struct rp_run_deadline *patience, enum rp_run_kind what);

/**
 * Judges the end of the run for which rp_run_deadline_left_ns was asked last.
 * @return 0; RP_VERDICT when the budget has ended it, which says nothing about the program;
 * RP_ENVIRONMENT: this machine could not make a comparison in time
 */
int rp_run_deadline_judge_end(struct rp_run_deadline *patience, enum rp_run_kind what,
                              const struct rp_proc_end *end, struct rp_err *err);

/** Says how long a program was waited for, as half a sentence and the same each time: "within the 5
 * s of --timeout". The caller frees it. */
char *rp_run_deadline_sentence(const struct rp_run_deadline *patience, enum rp_run_kind what);

/* What runs of a candidate is kept from all that is not its own. */

/** What options say of it. */
struct rp_sandbox_choice {
    bool none;             /**< it may do what its user may */
    char *const *writable; /**< what it may write besides */
    size_t writable_count;
};

/** Zero-initialise it, and release it with rp_candidate_sandbox_free. */
struct rp_candidate_sandbox {
    bool asked;
    struct rp_sandbox sandbox;
    struct rp_words writable; /**< of it: absolute paths */
    size_t own_count;         /**< of these: folders of the session */
};

/**
 * @param folders that it may write, of which the first is for temporary files; NULL at the end
 * @param sandbox may be one that was made before: who has its address has the new one
 * @return 0; RP_USAGE: what --writable names is not there; RP_ENVIRONMENT
 */
int rp_candidate_sandbox_make(const struct rp_sandbox_choice *choice, const char *const *folders,
                              struct rp_candidate_sandbox *sandbox, struct rp_err *err);
/** @return NULL: there is none */
const struct rp_sandbox *rp_candidate_sandbox_of(const struct rp_candidate_sandbox *sandbox);
/** Says by what a candidate is kept from what, as judge.json and optimize.json have it. */
json_t *rp_candidate_sandbox_json(const struct rp_candidate_sandbox *sandbox);
void rp_candidate_sandbox_free(struct rp_candidate_sandbox *sandbox);
/** Returns what may help a program that fails as it is: "" without a sandbox. */
const char *rp_candidate_sandbox_hint(const struct rp_sandbox *sandbox);

/* Other commands of rocm-perf run as children, on the device and with the timing of the session. */

/** Says how children are started. */
struct rp_child_context {
    const char *self;                 /**< path of rocm-perf */
    const char *device;               /**< --device; NULL: not said */
    const char *timing;               /**< --timing; NULL: not said */
    const struct rp_run_options *run; /**< what options say of how programs run; may be NULL */
    const char *folder;               /**< for what children say; exists */
    const char *input;                /**< path of its standard input; NULL: /dev/null */
    char *const *program;             /**< the user's command line, NULL-terminated */
    int status;                       /**< the exit status that it ends with */
    const struct rp_sandbox *sandbox; /**< of what runs a candidate; NULL: none */
    bool programs_outside;            /**< of it, and only comparisons and compilers in it */
    struct rp_run_deadline *patience; /**< changed by each run */
    unsigned most_geometries;
    double least_improvement; /**< 0.02 */
    const char *compare;      /**< --compare; NULL: not said */
};

struct rp_own_command {
    const char *const *words; /**< the command and its options; NULL-terminated */
    const char *program;      /**< behind `--` instead of the first word of measure->program, with
                                   the others; NULL: the command takes none */
    const char *stdout_path, *stderr_path; /**< as of rp_child */
    enum rp_run_kind what;
};

/** Makes rocm-perf WORDS [--device D] [--timing T] [-- PROGRAM ARGS]. The caller frees it. */
const char **rp_own_command_argv(const struct rp_child_context *measure, const char *const *words,
                                 const char *program);

/** @return NULL: it runs outside */
const struct rp_sandbox *rp_child_sandbox(const struct rp_child_context *measure,
                                          enum rp_run_kind what);

/** Runs such a command.
 * @return as rp_child_run; RP_VERDICT when the time of --budget was over before it had ended */
int rp_own_command_run(const struct rp_child_context *measure, const struct rp_own_command *self,
                       struct rp_proc_end *ret, struct rp_err *err);

/* This section cuts a program's message about its end to one line that may be printed. */

/**
 * Chooses the line of a log that says most: the first with "error" or a memory access fault, else
 * the last that is neither empty nor about ROCr's own leaks. It is UTF-8 without control
 * characters, cut to some 200 bytes.
 * @return owned by the caller; NULL: there is none
 */
char *rp_child_error_line(const char *path);

/** Appends that line to a reason, which the caller owns: "REASON: LINE". The reason stays unchanged
 * where there is no line. */
void rp_child_add_error_line(char **why, const char *log_path);

/** Returns "ended with exit status 3: LINE" or "was ended by SIGSEGV". The caller owns it. */
char *rp_child_end_reason(const struct rp_proc_end *end, const char *log_path);

/* A program's output goes to files that cannot fill the disk, because a configuration may print for
 * ever. */

enum { RP_TAPS = 2 }; /**< standard output, standard error */

struct rp_output_limiter {
    int fds[RP_TAPS];   /**< for the program: pipes, which a thread reads until close */
    bool over[RP_TAPS]; /**< valid after close: it printed more, and the rest is gone */

    size_t left_bytes[RP_TAPS];
    int pipes[RP_TAPS], files[RP_TAPS], stop;
    pthread_t thread;
};

/**
 * @param paths files, which are overwritten
 * @param most_bytes limit of each
 * @return 0, RP_ENVIRONMENT
 */
int rp_output_limiter_open(const char *const paths[RP_TAPS], size_t most_bytes,
                           struct rp_output_limiter *ret, struct rp_err *err);

/** Call it when the program and all that it started have ended: then the files are complete. It
 * does not wait for a process that still prints. */
void rp_output_limiter_close(struct rp_output_limiter *tap);

#endif
