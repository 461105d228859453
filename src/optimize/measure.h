/**
 * @file measure.h
 * @brief Real dispatches of a kernel, captured once, and two builds of it compared on each of them:
 *        by children (`rocm-perf isolate`, `rocm-perf replay compare`), so that nothing of a
 *        candidate runs in this process.
 */
#ifndef RP_OPTIMIZE_MEASURE_H
#define RP_OPTIMIZE_MEASURE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "optimize/decide.h"

struct rp_err;
struct rp_patience;

/** How children are started. */
struct rp_measure {
    const char *self;             /**< path of rocm-perf */
    const char *device;           /**< --device; NULL: not said */
    const char *timing;           /**< --timing; NULL: not said */
    const char *folder;           /**< for what children say; exists */
    const char *input;            /**< path of its standard input; NULL: /dev/null */
    char *const *program;         /**< the user's command line, NULL-terminated */
    int status;                   /**< the exit status that it ends with */
    struct rp_patience *patience; /**< changed by each run */
    unsigned most_geometries;
    double least_improvement; /**< 0.02 */
};

/** A captured dispatch, one of each geometry. */
struct rp_captured {
    char *folder;
    char *name; /**< "grid 1024x1x1 workgroup 256x1x1 lds 0" */
    uint32_t grid[3], workgroup[3], group_bytes;
    double weight; /**< time of all dispatches of that geometry in the profile, ns; 0 = unknown */
};

/** Release with rp_captures_free. */
struct rp_captures {
    struct rp_captured *list; /**< in the order of their folders */
    size_t count;
    double covered; /**< part of the kernel's time in the profile that geometries of these take;
                         negative = unknown */
};

/**
 * @param program  instead of the first word of measure->program
 * @param name     demangled, as the profile has it
 * @param profile  folder of a profile of the same program, for the weights
 * @param output   folder to make; one that is there is read instead: it is whole
 * @return 0; RP_VERDICT when the kernel cannot be captured or does not replay, or two have that
 *         name, with the reason;
 *         RP_ENVIRONMENT ...
 */
int rp_captures_make(const struct rp_measure *measure, const char *program, const char *name,
                     const char *symbol, const char *profile, const char *output,
                     struct rp_captures *ret, struct rp_err *err);
void rp_captures_free(struct rp_captures *captures);

/** One comparison with all that was measured. Release with rp_compared_free. */
struct rp_compared {
    struct rp_comparison comparison; /**< its reason is that below */
    char *reason;
    json_t *json; /**< of `replay compare --json`; NULL: it did not come to that */
};

/**
 * @param before, after  code objects
 * @return 0, also when `after` is wrong or crashes; RP_BAD_INPUT when `before` is; RP_ENVIRONMENT
 */
int rp_compare(const struct rp_measure *measure, const struct rp_captured *captured,
               const char *before, const char *after, struct rp_compared *ret, struct rp_err *err);
void rp_compared_free(struct rp_compared *compared);

/** What `replay compare --json` has printed. @return 0 or RP_BAD_INPUT */
int rp_compared_read(const char *text, struct rp_compared *ret, struct rp_err *err);

/** Text that a regular expression takes for itself; free it. */
char *rp_regex_quoted(const char *text);

#endif
