/**
 * @file results.h
 * @brief From traces and counters to dag.json, roofline.json and thread_trace.json and their
 * summaries: what `analyze` does with files and `profile` with its own runs.
 */
#ifndef RP_CLI_RESULTS_H
#define RP_CLI_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "rocm-perf/bottleneck.h"
#include "rocm-perf/roofline.h"
#include "rocm-perf/thread_trace.h"

struct rp_buf;
struct rp_counters;
struct rp_dag_result;
struct rp_err;
struct rp_pending;
struct rp_profile;
struct rp_store;

/** Traces of one run, and counters of further runs of the same program. */
struct rp_inputs {
    struct rp_store **stores;
    size_t store_count;
    char **csv_prefixes;          /**< per store: of the CSV files that it was made of, or NULL */
    struct rp_counters *counters; /**< NULL: none */
    struct rp_thread_traces waves;
};

/** What a result is wanted for. */
struct rp_wish {
    enum { RP_PRINT_NOTHING, RP_PRINT_JSON, RP_PRINT_TERM } print;
    const char *folder;         /**< the JSON also goes to a file there; NULL: not */
    struct rp_pending *pending; /**< of the files there; NULL: each appears at once */
    bool full;                  /**< dag.json with every kernel and copy */
};

/** Opens traces, CSV files and folders of them. @p ret is to be closed, also after a failure. */
int rp_inputs_open(char **paths, size_t count, struct rp_inputs *ret, struct rp_err *err);

/**
 * Takes the counters of the traces, too. A trace without counters is only asked for its dispatches
 * when there are others, or @p wanted: then its times are the better ones.
 */
int rp_inputs_read_counters(struct rp_inputs *in, bool wanted, struct rp_err *err);

/** Adds counters of another run; takes the set, also when it fails. */
int rp_inputs_add_counters(struct rp_inputs *in, struct rp_counters *set, struct rp_err *err);

/**
 * The traces of one run: an application that was run again for other counters is not another rank.
 * The first trace decides, the first without counters if there is one.
 * @param ret  room for all stores
 */
int rp_inputs_choose_run(const struct rp_inputs *in, struct rp_store **ret, size_t *ret_count,
                         struct rp_err *err);

void rp_inputs_close(struct rp_inputs *in);

/* Results are made first, which may be refused, and put afterwards: what is to be printed is
 * appended to the text. */

/** @param full  with every kernel and copy; @p ret is to be freed before the inputs */
int rp_make_dag(const struct rp_inputs *in, bool full, struct rp_dag_result *ret,
                struct rp_err *err);
int rp_put_dag(const struct rp_dag_result *dag, const struct rp_wish *wish, struct rp_buf *text,
               struct rp_err *err);

/** @p ret is to be freed before the counters go. */
int rp_make_roofline(const struct rp_inputs *in, const struct rp_roofline_options *options,
                     struct rp_roofline *ret, struct rp_err *err);
int rp_put_roofline(const struct rp_roofline *roofline, const struct rp_wish *wish,
                    struct rp_buf *text, struct rp_err *err);

/** Of the thread traces. */
int rp_put_thread_trace(const struct rp_inputs *in, const struct rp_wish *wish, struct rp_buf *text,
                        struct rp_err *err);

/** Bottlenecks and ranking of kernels. */
struct rp_ranking {
    struct rp_profile *profile;
    struct rp_bottlenecks found;
};

/** What it is made from, beside the inputs. */
struct rp_ranking_from {
    const struct rp_dag_result *dag;    /**< NULL: there is none */
    const struct rp_roofline *roofline; /**< NULL: there is none */
    const char *arch;                   /**< --arch; NULL */
};

/** @p ret is to be freed, also after a failure. */
int rp_make_ranking(const struct rp_inputs *in, const struct rp_ranking_from *from,
                    struct rp_ranking *ret, struct rp_err *err);
/** @param top  kernels that are printed, 0: the default; the file has all of them */
int rp_put_ranking(const struct rp_ranking *ranking, size_t top, const struct rp_wish *wish,
                   struct rp_buf *text, struct rp_err *err);
void rp_ranking_free(struct rp_ranking *ranking);

/** Removes files of a result before: beside the new ones they would be taken for a part of them. */
int rp_results_drop(const char *folder, const char *const *names, size_t count, struct rp_err *err);

#endif
