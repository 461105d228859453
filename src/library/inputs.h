/**
 * @file page_changes.h
 * @brief What somebody names, opened: traces, counters, thread traces, and folders of them.
 */
#ifndef RP_LIBRARY_INPUTS_H
#define RP_LIBRARY_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/work_progress.h"
#include "library/notes.h"
#include "rocm-perf/thread_trace.h"

struct rp_counters;
struct rp_err;
struct rp_kernel_stats;
struct rp_store;

/** Traces of one run, and counters of further runs of the same program. */
struct rp_inputs {
    struct rp_store **stores;
    size_t store_count;
    char **csv_prefixes;          /**< per store: of the CSV files that it was made of, or NULL */
    struct rp_counters *counters; /**< NULL: none */
    size_t noted;                 /**< so many of their warnings were passed on */
    struct rp_counter_parts *unjoined; /**< while inputs are opened */
    struct rp_kernel_stats *stats; /**< where there are neither traces nor counters; NULL: none */
    struct rp_thread_traces waves;
    struct rp_note_sink notes; /**< what to know of them that is no failure */
    struct rp_work work;       /**< told how far what is made of them is; all 0: nobody is */
};

/** Opens traces, CSV files and folders of them. @p ret is to be closed, also after a failure. */
int rp_inputs_open(char *const *paths, size_t count, struct rp_inputs *ret, struct rp_err *err);

/**
 * Takes the counters of the traces, too. A trace without counters is only asked for its dispatches
 * when there are others, or @p wanted: then its times are the better ones.
 */
int rp_inputs_read_counters(struct rp_inputs *in, bool wanted, struct rp_err *err);

/** Adds counters of another run; takes the set, also when it fails. */
int rp_inputs_add_counters(struct rp_inputs *in, struct rp_counters *set, struct rp_err *err);

/**
 * The traces of one run: an application that was run again for other counters is not another rank.
 * The first trace decides, the first without counters if there is one that did not run at one time
 * with others that have some, as ranks do.
 * @param ret  room for all stores
 */
int rp_inputs_choose_run(const struct rp_inputs *in, struct rp_store **ret, size_t *ret_count,
                         struct rp_err *err);

void rp_inputs_close(struct rp_inputs *in);

#endif
