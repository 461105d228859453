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
struct rp_selftest;
struct rp_workload_words;

enum { RP_SELFTEST_BLOCK = 256, RP_SELFTEST_FMA_A_ROUND = 16 };

#define RP_SELFTEST_KNOWN "selftest_known"

/** Adds a value. What is not known is null. */
void rp_selftest_put(json_t *values, const char *name, double value);
void rp_selftest_put_bool(json_t *values, const char *name, bool value);

/** Returns the number of a key, or of a key within a key; NAN: there is none. */
double rp_selftest_number(const json_t *json, const char *a, const char *b);
/** Returns the first object of a list whose name begins so, or NULL. */
const json_t *rp_selftest_named(const json_t *list, const char *name);

void rp_selftest_add_known(const struct rp_selftest *test, const char *result, unsigned rounds,
                           unsigned launches, struct rp_workload_words *words);

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

bool rp_selftest_has_matrix(const struct rp_selftest *test);

/** Says that rocprofv3 is not there.
 * @return RP_SELFTEST_SKIP */
int rp_selftest_no_rocprofv3(struct rp_err *err);

#endif
