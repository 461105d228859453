/**
 * @file results.h
 * @brief What was made of traces and counters (library/library.h), as dag.json, roofline.json,
 *        thread_trace.json, analysis.json and their summaries.
 */
#ifndef RP_CLI_RESULTS_H
#define RP_CLI_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/profile.h"
#include "analyze/roofline.h"
#include "base/buf.h"
#include "library/library.h"
#include "run/machine.h"
#include "run/result_folder.h"
#include "run/run_program.h"
#include "run/standard_input.h"
#include "trace/rocpd.h"

struct rp_buf;
struct rp_err;
struct rp_file_set;
struct rp_versus_side;

/* These files appear together, when all of them are written. If a result cannot be finished, none
 * appears. */

enum { RP_FILE_SET_MAX = 4 };

/** Initialise it with zeros, and release it with rp_file_set_drop. */
struct rp_file_set {
    struct {
        char *path, *partial;
    } files[RP_FILE_SET_MAX];
    size_t count;
};

/** Says what a result is wanted for. */
struct rp_result_request {
    enum { RP_RESULT_SILENT, RP_RESULT_JSON, RP_RESULT_TERMINAL } print;
    const char *folder;          /**< the JSON also goes to a file there; NULL: not */
    struct rp_file_set *pending; /**< of the files there; NULL: each appears at once */
    bool full;                   /**< dag.json with every kernel and copy */
};

int rp_put_dag(const struct rp_dag_result *dag, const struct rp_result_request *wish,
               struct rp_buf *text, struct rp_err *err);

int rp_put_roofline(const struct rp_roofline *roofline, const struct rp_result_request *wish,
                    struct rp_buf *text, struct rp_err *err);

/** Writes the result of the thread traces. */
int rp_put_thread_trace(const struct rp_inputs *in, const struct rp_result_request *wish,
                        struct rp_buf *text, struct rp_err *err);

/** @param top  kernels that are printed, 0: the default; the file has all of them */
int rp_put_ranking(const struct rp_ranking *ranking, size_t top,
                   const struct rp_result_request *wish, struct rp_buf *text, struct rp_err *err);

/** Removes files of an earlier result, because beside the new ones they would be taken for a part
 * of them. */
int rp_results_drop(const char *folder, const char *const *names, size_t count, struct rp_err *err);

/** Gives all files their names.
 * @return 0 or RP_ENVIRONMENT */
int rp_file_set_commit(struct rp_file_set *pending, struct rp_err *err);
/** Removes the files that have not got their names. */
void rp_file_set_drop(struct rp_file_set *pending);

/* This section reads whatever holds a result as one side of a comparison. */

/**
 * Reads the folder of `profile`, its profile.json, what `replay compare --json` printed, or traces
 * as `analyze` takes them.
 * @return 0; RP_BAD_INPUT, RP_ENVIRONMENT
 */
int rp_compare_read_side(char *path, struct rp_versus_side *ret, struct rp_err *err);

/* This section is for `rocm-perf profile`, between its options and its report. */

/** Returns "software", "hardware" or NULL. Our collector writes it down; rocprofv3 writes the
 * environment of the process. */
int rp_profile_device_of(struct rp_store *store, const char **ret, struct rp_err *err);

#endif
