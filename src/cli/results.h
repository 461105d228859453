/**
 * @file results.h
 * @brief What was made of traces and counters (library/library.h), as dag.json, roofline.json,
 *        thread_trace.json, analysis.json and their summaries.
 */
#ifndef RP_CLI_RESULTS_H
#define RP_CLI_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "library/library.h"

struct rp_buf;
struct rp_err;
struct rp_file_set;

/** What a result is wanted for. */
struct rp_wish {
    enum { RP_PRINT_NOTHING, RP_PRINT_JSON, RP_PRINT_TERM } print;
    const char *folder;          /**< the JSON also goes to a file there; NULL: not */
    struct rp_file_set *pending; /**< of the files there; NULL: each appears at once */
    bool full;                   /**< dag.json with every kernel and copy */
};

/* Results are made first, which may be refused, and put afterwards: what is to be printed is
 * appended to the text. */

int rp_put_dag(const struct rp_dag_result *dag, const struct rp_wish *wish, struct rp_buf *text,
               struct rp_err *err);

int rp_put_roofline(const struct rp_roofline *roofline, const struct rp_wish *wish,
                    struct rp_buf *text, struct rp_err *err);

/** Of the thread traces. */
int rp_put_thread_trace(const struct rp_inputs *in, const struct rp_wish *wish, struct rp_buf *text,
                        struct rp_err *err);

/** @param top  kernels that are printed, 0: the default; the file has all of them */
int rp_put_ranking(const struct rp_ranking *ranking, size_t top, const struct rp_wish *wish,
                   struct rp_buf *text, struct rp_err *err);

/** Removes files of a result before: beside the new ones they would be taken for a part of them. */
int rp_results_drop(const char *folder, const char *const *names, size_t count, struct rp_err *err);

#endif
