/**
 * @file one_run.h
 * @brief Are the traces that somebody gave of one run?
 */
#ifndef RP_LIBRARY_ONE_RUN_H
#define RP_LIBRARY_ONE_RUN_H

#include <stddef.h>

struct rp_err;
struct rp_inputs;
struct rp_store;

/**
 * Files that were swept up from several runs make a graph that means nothing: says in @p notes when
 * two of the traces are of different commands, or of the same one again, and not of the same time.
 * @param run  those that a graph is made of; the others may be the same command again for other
 *             counters
 * @return 0; RP_BAD_INPUT names two of @p run which do not even say of which command they are
 */
int rp_warn_of_other_runs(const struct rp_inputs *in, struct rp_store *const *run, size_t run_count,
                          struct rp_err *err);

#endif
