/**
 * @file isolate_run.h
 * @brief Runs a program and captures dispatches of it (trace/capture.h).
 */
#ifndef RP_RUN_ISOLATE_RUN_H
#define RP_RUN_ISOLATE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/process.h"
#include "run/run_program.h"
#include "trace/capture.h"

struct rp_environment;
struct rp_err;

enum { RP_CAPTURED_RUN_NAMES = 16 };

struct rp_captured_run_request {
    const struct rp_environment *env;
    const struct rp_run_options *options; /**< resolved */
    char *const *argv;
    const char *kernel; /**< regular expression for demangled names */
    struct rp_snapshot_selection selection;
    const uint64_t *numbers; /**< .selection.number_count of them, rising */
    const char *folder;      /**< of the capture; must not exist */
    bool several;            /**< it gets a folder for each capture */
    const char *version;     /**< of this program */
    /** It is used as that of struct rp_snapshot_request, and called from another thread. */
    void (*waits)(uint64_t match, const struct rp_snapshot_waits *waits);
};

/** Release it with rp_captured_run_free. */
struct rp_captured_run {
    struct rp_proc_end end;
    size_t captured;
    uint64_t *matches; /**< of each capture: its number among the dispatches that match */
    char *declined; /**< why the first one is not captured though it was there; NULL: not known */
    size_t declines;
    size_t processes;    /**< that used a GPU */
    size_t kernels_seen; /**< kernels in loaded code objects, and those with a matching name */
    size_t kernels_wanted;
    /** These are dispatches that the other options leave out, one of each kind. */
    struct rp_snapshot_filtered passed[RP_SNAPSHOT_MAX_FILTERED];
    size_t passed_count;
    char *names[RP_CAPTURED_RUN_NAMES]; /**< of the first kernels seen, without HIP's own */
    bool more_names;
};

/**
 * Runs the program to its end, whether the dispatch is captured or not.
 * @return 0; RP_USAGE (no program, a regular expression that cannot be read, a folder that exists),
 * RP_ENVIRONMENT (the capture cannot be written, ...), RP_INTERRUPTED
 */
int rp_run_capturing(const struct rp_captured_run_request *request, struct rp_captured_run *ret,
                     struct rp_err *err);
/** This is the longest dispatch of a program. */
struct rp_longest_dispatch {
    uint64_t match; /**< its number among those that match; 0: none does */
    uint64_t matches;
    uint64_t duration_ns;
    uint32_t grid[3];
    uint16_t workgroup[3];
};

/**
 * Runs the program and finds which of the matching dispatches takes longest, the first of equal
 * ones. The program's standard output goes nowhere.
 * @param request .numbers, .folder are not used
 * @return as rp_run_capturing; RP_VERDICT: several processes have matches; RP_BAD_INPUT: times are
 * missing
 */
int rp_run_finding_longest(const struct rp_captured_run_request *request,
                           struct rp_longest_dispatch *ret, struct rp_captured_run *ret_isolation,
                           struct rp_err *err);

void rp_captured_run_free(struct rp_captured_run *isolation);

/* These functions listen to the tools in the processes of a program, and write what one of them
 * captures. */

#endif
