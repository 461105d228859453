/**
 * @file selftest_steps.h
 * @brief What the steps of the self-test have in common: they run commands of this suite on the
 *        workload, as a user would, and read what these and the workload leave.
 */
#ifndef RP_CLI_SELFTEST_STEPS_H
#define RP_CLI_SELFTEST_STEPS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_row_dispatch;
struct rp_row_kernel;
struct rp_selftest;
struct rp_store;

enum { RP_SELFTEST_BLOCK = 256, RP_SELFTEST_FMA_A_ROUND = 16, RP_SELFTEST_MOST_WORDS = 64 };

#define RP_SELFTEST_KNOWN "selftest_known"

/** Adds a value. What is not known is null. */
void rp_selftest_put(json_t *values, const char *name, double value);
void rp_selftest_put_bool(json_t *values, const char *name, bool value);

/** Returns the number of a key, or of a key within a key; NAN: there is none. */
double rp_selftest_number(const json_t *json, const char *a, const char *b);
/** Returns the first object of a list whose name begins so, or NULL. */
const json_t *rp_selftest_named(const json_t *list, const char *name);

/** The words of a command, which the struct owns. */
struct rp_selftest_words {
    char *at[RP_SELFTEST_MOST_WORDS];
    size_t count;
};

void rp_selftest_words_free(struct rp_selftest_words *words);
void rp_selftest_word(struct rp_selftest_words *words, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Adds this program and one of its commands. */
void rp_selftest_suite(const struct rp_selftest *test, const char *command,
                       struct rp_selftest_words *words);
void rp_selftest_add_device(const struct rp_selftest *test, struct rp_selftest_words *words);
/** Adds the GPU's own model, on the machine of the GPU. */
void rp_selftest_add_model(const struct rp_selftest *test, struct rp_selftest_words *words);
/** Adds the private ROCm's own loader, because that ROCm is newer than the machine's libc. */
void rp_selftest_add_loader(const struct rp_selftest *test, struct rp_selftest_words *words);
/** Adds the workload in a mode; what it finds is in RESULT.txt. Numbers follow. */
void rp_selftest_add_workload(const struct rp_selftest *test, const char *mode, const char *result,
                              struct rp_selftest_words *words);
void rp_selftest_add_known(const struct rp_selftest *test, const char *result, unsigned rounds,
                           unsigned launches, struct rp_selftest_words *words);

/**
 * Runs a command in the folder of the self-test, until the step's time has passed.
 * @param name for messages, and of the files with what it said
 * @param ret_out what it printed; NULL: not wanted
 */
int rp_selftest_run_words(struct rp_selftest *test, const char *name,
                          struct rp_selftest_words *words, char **ret_out, struct rp_err *err);
/** Runs a command that prints JSON. */
int rp_selftest_run_json(struct rp_selftest *test, const char *name,
                         struct rp_selftest_words *words, json_t **ret, struct rp_err *err);
/** Reads a file of the self-test's folder. */
int rp_selftest_read_json(const struct rp_selftest *test, const char *path, json_t **ret,
                          struct rp_err *err);

enum { RP_SELFTEST_RATES = 5 }; /**< kernels whose rates are measured */

struct rp_selftest_launch_times {
    double event_ns;
    int64_t begin_ns, end_ns;
};

struct rp_selftest_said {
    double wrong, numbers;
    uint64_t memory;
    struct rp_selftest_launch_times launches[64];
    size_t count;
    double ms[RP_SELFTEST_RATES];
};

/** Reads what the workload has found. */
int rp_selftest_read_said(const struct rp_selftest *test, const char *result,
                          struct rp_selftest_said *ret, struct rp_err *err);

struct rp_selftest_trace {
    const struct rp_row_dispatch *dispatches;
    const struct rp_row_kernel *kernels;
    size_t dispatch_count, kernel_count;
};

int rp_selftest_read_trace(struct rp_store *store, struct rp_selftest_trace *ret,
                           struct rp_err *err);
bool rp_selftest_is_named(const struct rp_selftest_trace *trace,
                          const struct rp_row_dispatch *dispatch, const char *name);

bool rp_selftest_has_matrix(const struct rp_selftest *test);

/** Says that rocprofv3 is not there.
 * @return RP_SELFTEST_SKIP */
int rp_selftest_no_rocprofv3(struct rp_err *err);

#endif
