/**
 * @file results_t4.h
 * @brief Export of what was measured in the format T4, which other tools score and simulate.
 */
#ifndef RP_TUNE_RESULTS_T4_H
#define RP_TUNE_RESULTS_T4_H

#include <stddef.h>

struct rp_err;
struct rp_space;

/** T4 knows these and no others. */
enum rp_t4_validity {
    RP_T4_CORRECT,
    RP_T4_TIMEOUT,
    RP_T4_COMPILE,
    RP_T4_RUNTIME,     /**< it crashed */
    RP_T4_CORRECTNESS, /**< its output is wrong */
    RP_T4_CONSTRAINTS,
};

/** One configuration, in the order in which they were tried. Times below 0 are not known. */
struct rp_t4_result {
    size_t config;
    enum rp_t4_validity validity;
    double runtime_ms;        /**< the objective; of RP_T4_CORRECT only */
    const double *samples_ms; /**< runs that it is of; may be NULL */
    size_t sample_count;
    double compile_ms, bench_ms, search_ms, framework_ms, check_ms;
    const char *timestamp; /**< NULL: none */
};

struct rp_t4_source {
    const char *name, *device; /**< what was tuned, and on what */
};

/**
 * @param ret  JSON, owned by the caller
 * @return 0; RP_ENVIRONMENT: out of memory
 */
int rp_t4_text(const struct rp_space *space, const struct rp_t4_result *results, size_t count,
               const struct rp_t4_source *source, char **ret, struct rp_err *err);

/** The same to a file. @return 0, RP_ENVIRONMENT */
int rp_t4_write(const char *path, const struct rp_space *space, const struct rp_t4_result *results,
                size_t count, const struct rp_t4_source *source, struct rp_err *err);

#endif
