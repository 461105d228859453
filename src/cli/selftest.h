/**
 * @file selftest.h
 * @brief `rocm-perf doctor --selftest`: does what users do with kernels of which it is known what
 *        they execute and leave in memory, judges what comes of it, and writes one file. Steps
 *        find values; what is true of them is in rows, so that a test can break each.
 */
#ifndef RP_CLI_SELFTEST_H
#define RP_CLI_SELFTEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/workload.h"

struct rp_doctor_cli;
struct rp_err;
struct rp_term_style;

enum rp_selftest_step {
#define STEP(id, ...) RP_SELFTEST_##id,
#include "cli/selftest_steps.def"
    RP_SELFTEST_STEPS
};

/** How much work the kernels do: a GPU needs more to be measured than its model. */
struct rp_selftest_sizes {
    unsigned blocks, rounds, launches;
    unsigned copy_mib, cache_rounds, lds_rounds, fma_rounds, matrix_rounds;
    unsigned compare_runs, overlap_blocks, overlap_rounds, streams;
};

enum rp_selftest_status {
    RP_SELFTEST_NOT_RUN, /**< interrupted before */
    RP_SELFTEST_PASSED,
    RP_SELFTEST_FAILED,
    RP_SELFTEST_SKIPPED,
};

struct rp_selftest_result {
    bool wanted, ended; /**< ended: what it makes is there, and its values are judged */
    enum rp_selftest_status status;
    char *reason; /**< why it failed or was skipped; NULL: passed */
    double seconds;
    json_t *values; /**< an object with what it found, also where it failed; NULL: not run */
    json_t *checks; /**< an array; NULL: it has not ended */
};

struct rp_selftest {
    struct rp_workload work; /**< its deadline is that of the step */
    const char *tracer;      /**< of counters and thread traces: a word of profile --tracer */
    struct rp_selftest_sizes sizes, modelled;
    int64_t begun_ns, ended_ns; /**< of all; of the last step that has ended */
    int64_t end_ns;             /**< when all must have ended, 0: ever */
    bool interrupted;
    struct rp_selftest_result steps[RP_SELFTEST_STEPS];
};

enum { RP_SELFTEST_SKIP = 1 }; /**< a step cannot run here: the reason is in its err */

/** A step does its work and adds what it finds.
 * @return 0; RP_SELFTEST_SKIP; negative: it failed */
typedef int rp_selftest_fn(struct rp_selftest *test, json_t *values, struct rp_err *err);
#define STEP(id, ...) rp_selftest_fn rp_selftest_##id;
#include "cli/selftest_steps.def"

/** Returns the name of a step. */
const char *rp_selftest_name(enum rp_selftest_step step);

/**
 * Judges the values of a step by its rows.
 * @param ret_checks an array, one object for each row
 * @return NULL: all are true; else the first that is not, in words, for free()
 */
char *rp_selftest_judge(const struct rp_selftest *test, enum rp_selftest_step step,
                        json_t **ret_checks);

/** Returns the text without folders, and without the names of this machine and its user. */
char *rp_selftest_anonymous(const char *text);

/** Makes the document of the results (schemas/selftest.schema.json). NULL: memory has ended. */
json_t *rp_selftest_document(const struct rp_selftest *test);

/** Runs `rocm-perf doctor --selftest`.
 * @return exit code */
int rp_cmd_selftest(const struct rp_environment *env, const struct rp_doctor_cli *cli);

#endif
