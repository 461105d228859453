/**
 * @file one_run.h
 * @brief Are the traces that somebody gave of one run?
 */
#ifndef RP_LIBRARY_ONE_RUN_H
#define RP_LIBRARY_ONE_RUN_H

#include <stddef.h>

struct rp_err;
struct rp_note_sink;
struct rp_store;

/**
 * Says in @p notes when two of the traces are of different commands and not of the same time: files
 * that were swept up from several runs make a graph that means nothing.
 */
int rp_warn_of_other_runs(struct rp_store *const *stores, size_t count,
                          const struct rp_note_sink *notes, struct rp_err *err);

#endif
