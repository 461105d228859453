/**
 * @file measured_run.h
 * @brief Builds, runs, times and checks one configuration on the device of this process.
 */
#ifndef RP_EXPERIMENT_MEASURED_RUN_H
#define RP_EXPERIMENT_MEASURED_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "run/machine.h"

struct rp_command;
struct rp_err;
struct rp_evaluation;
struct rp_evaluation_request;
struct rp_measure_context;
struct rp_orphans;
struct rp_tracer;

/* The command of a configuration is made from a text with {NAME} where values go. The text is split
 * into words as a shell does, but by us: a value is a part of one word whatever it is made of, and
 * no shell sees it. With RP_TEMPLATE_SHELL the text is a script for /bin/sh, and values reach it in
 * variables: they are quoted where they are set, and never read as code. */

/** Says what to start. Release it with rp_command_free. */
struct rp_command {
    char **argv;               /**< NULL-terminated; at least the program */
    struct rp_env_change *env; /**< terminated by a NULL name; no value: it is taken away */
};

/* A worker is asked this, and answers: one configuration is built, run some times, timed and
 * checked. Each message is one line of JSON. */

enum rp_evaluation_outcome {
#define RP_OUTCOME(id, word) RP_EVALUATION_##id,
#include "experiment/evaluation_outcomes.def"
#undef RP_OUTCOME
};

/** Says where a number of a run is from (experiment/run_numbers.def). */
enum rp_number_source {
#define NUMBER(id, word, unit, traced) RP_NUMBER_##id,
#include "experiment/run_numbers.def"
#undef NUMBER
    RP_NUMBER_SOURCES
};

struct rp_number_row {
    const char *word, *unit; /**< word is NULL: of PRINTED */
    bool traced;
};
extern const struct rp_number_row rp_number_rows[RP_NUMBER_SOURCES];

struct rp_wanted_number {
    enum rp_number_source source;
    char *pattern; /**< PRINTED: as that of the objective; else NULL */
    char *name;    /**< what the user calls it, for reasons; NULL: nothing */
};

enum { RP_MAX_NUMBERS = 8 };

/** Release it with rp_evaluation_free. */
struct rp_evaluation {
    uint64_t id;
    enum rp_evaluation_outcome outcome;
    char *reason; /**< half a sentence for people, UTF-8 in one line; NULL when OK */

    double *runtimes_ns; /**< one per sample that came to its end; all of them when OK. Above 0 */
    size_t count;
    double *numbers; /**< number_count of each of these samples, as the request names them */
    size_t number_count;

    bool signaled;  /**< FAILED: by a signal */
    int status;     /**< FAILED, NOT_BUILT: exit status, or the signal's number */
    int64_t cap_ns; /**< TIMEOUT: the wall time that the run had */

    bool built;        /**< the build command ran; it does not for what has been built before */
    int64_t build_ns;  /**< what that took */
    int64_t bench_ns;  /**< wall time of all runs, warm-up included */
    int64_t warmup_ns; /**< of that: warm-ups */

    unsigned worker; /**< whose answer: filled in by the pool, not in JSON */
};

/** Says what the runtime is. */
enum rp_objective {
    RP_OBJECTIVE_DISPATCH = 0, /**< sum of (end - start) over the dispatches of a traced run */
    RP_OBJECTIVE_WALL,         /**< the process, start to end; not traced */
    RP_OBJECTIVE_OUTPUT,       /**< a number that the program prints; not traced */
};

/** A request that was parsed is released with rp_evaluation_request_free. */
struct rp_evaluation_request {
    uint64_t id;               /**< the answer has the same one */
    struct rp_command command; /**< what to run; it may name build_output */

    struct rp_command build; /**< argv NULL: nothing is built */
    char *build_output; /**< path of the program that the build makes, in a folder that all workers
                             see. One name is one program: once it has been built there, it is not
                             built again (rp_build_output_path makes the name) */
    int64_t build_timeout_ns;

    enum rp_objective objective;
    char *pattern;  /**< OUTPUT: extended regular expression; group 1 (without groups: all of it) of
                         its last match in a line of standard output is the number */
    double unit_ns; /**< OUTPUT: ns of one; 1e6 when the program prints ms */

    struct rp_wanted_number numbers[RP_MAX_NUMBERS]; /**< that are wanted of each run as well; those
                                                          of its records with DISPATCH only */
    size_t number_count;

    char *check; /**< NULL, or a command for /bin/sh: 0 means right. Its standard input is what the
                      program printed; ROCM_PERF_PROGRAM, ROCM_PERF_STATUS are set. Asked once */

    char *input; /**< absolute path of what each run has as standard input; NULL: nothing */

    int64_t timeout_ns;        /**< of each run, and of the check; above 0 */
    int64_t warmup_timeout_ns; /**< of each warm-up; 0: as of others */
    uint64_t memory_bytes;     /**< resident, of all that a run starts together; 0: no limit */
    unsigned warmups;          /**< runs before, whose times do not count */
    unsigned samples;          /**< runs that count; with warmups at most RP_EVALUATION_MOST_RUNS */
};

struct rp_measure_context {
    const struct rp_environment *env;
    const struct rp_run_options *options; /**< resolved */
    const struct rp_tracer *tracer;       /**< of runs whose dispatches are timed */
    const char *folder;               /**< for traces and outputs: made and emptied for each run */
    const struct rp_orphans *adopted; /**< since when processes are those of a program */
};

/**
 * Measures a configuration. Whatever happens to the program is an outcome. All that it has started
 * has ended afterwards.
 * @return 0; RP_ENVIRONMENT: the fault is this machine's (no disk space, the wrong device);
 * RP_INTERRUPTED
 */
int rp_measure_config(const struct rp_measure_context *evaluator,
                      const struct rp_evaluation_request *request, struct rp_evaluation *ret,
                      struct rp_err *err);

/* Programs of build commands are kept by the words of the compiler, so that configurations which
 * differ only at run time share one. */

/**
 * Returns where the program of a build command goes: FOLDER/<sha256 of its words and
 * variables>/program.
 * @param folder absolute, and not for builds from sources that may have changed since
 * @param command filled with a text for {output} that is the same for all (RP_TEMPLATE_OUTPUT)
 * @return owned by the caller
 */
char *rp_build_output_path(const char *folder, const struct rp_command *command);

/* The runtime of one run is that of its dispatches, or a number that it printed. */

/** Checks before anything runs that the expression can be searched for.
 * @return 0 or RP_USAGE */
int rp_objective_check_pattern(const char *pattern, struct rp_err *err);

/** Accepts zeros. */
void rp_evaluation_request_free(struct rp_evaluation_request *request);
void rp_evaluation_free(struct rp_evaluation *evaluation);

/* Workers run on GPUs of one model: requests go to a free worker, and answers come as they are
 * ready. */

/* This section is about one worker of a pool: its process, its job, and the request on the way to
 * it. */

/** Accepts zeros. */
void rp_command_free(struct rp_command *command);

#endif
