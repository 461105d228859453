/**
 * @file search_results.h
 * @brief A search as autotune.json (schemas/autotune.schema.json), and as a picture.
 */
#ifndef RP_TUNE_SEARCH_RESULTS_H
#define RP_TUNE_SEARCH_RESULTS_H

#include <jansson.h>
#include <stddef.h>

#include "tune/search.h"

struct rp_buf;
struct rp_err;
struct rp_space;

/** What the search does not know of itself. */
struct rp_search_about {
    const char *name;    /**< of the space: its file, or what a recorded one says */
    const char *command; /**< template; NULL: simulated */
    const char *objective;
    const char *device; /**< as of rp_run_device; NULL: not said */
};

/** Owned; NULL: out of memory. */
json_t *rp_search_json(const struct rp_search_options *options, const struct rp_runner *runner,
                       const struct rp_search_result *result, const struct rp_search_about *about);

/** NAME=value NAME=value for people: no control characters, and of long values the beginning. */
void rp_search_put_parameters(const struct rp_space *space, size_t config, struct rp_buf *to);

/** SVG: runtimes in the order of evaluation on a logarithmic axis, and the best one so far. */
void rp_search_svg(const struct rp_search_options *options, const struct rp_search_result *result,
                   const struct rp_search_about *about, struct rp_buf *to);

/* Export of what was measured in the format T4, which other tools score and simulate. */

/** T4 knows these and no others. */
enum rp_fair_t4_validity {
    RP_T4_CORRECT,
    RP_T4_TIMEOUT,
    RP_T4_COMPILE,
    RP_T4_RUNTIME,     /**< it crashed */
    RP_T4_CORRECTNESS, /**< its output is wrong */
    RP_T4_CONSTRAINTS,
};

/** One configuration, in the order in which they were tried. Times below 0 are not known. */
struct rp_fair_t4_result {
    size_t config;
    enum rp_fair_t4_validity validity;
    double runtime_ms;        /**< the objective; of RP_T4_CORRECT only */
    const double *samples_ms; /**< runs that it is of; may be NULL */
    size_t sample_count;
    double compile_ms, bench_ms, search_ms, framework_ms, check_ms;
    const char *timestamp; /**< NULL: none */
};

struct rp_fair_t4_source {
    const char *name, *device; /**< what was tuned, and on what */
};

/** The same to a file. @return 0, RP_ENVIRONMENT */
int rp_fair_t4_write(const char *path, const struct rp_space *space,
                     const struct rp_fair_t4_result *results, size_t count,
                     const struct rp_fair_t4_source *source, struct rp_err *err);

#endif
