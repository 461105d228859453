/**
 * @file repeats.h
 * @brief Which of several traces are of one run, and which are runs of the same command.
 */
#ifndef RP_LIBRARY_REPEATS_H
#define RP_LIBRARY_REPEATS_H

#include <stddef.h>

struct rp_err;
struct rp_store;

/** Traces by runs, in the order of time. */
struct rp_repeats {
    struct rp_store **stores; /**< of the first run, then of the next; owned by the inputs */
    size_t *counts;           /**< of traces of each run */
    size_t count;             /**< of runs */
};

/**
 * Processes that were there at the same time are ranks of one run. Of those of a machine that ran
 * one after the other each is a run where all are of the same command, or each group of ranks of
 * the same commands; where no command came twice, and one process started all, they are what a
 * script started. All else is no result: it is refused, as adding it up would make a time of
 * nothing.
 * On the software device each process has a clock of its own: those of one parent are one run.
 * Clocks of different machines do not compare: traces of several are of one run, unless one of the
 * machines ran the same command one after the other, which is refused.
 * @return 0, to be released also when count is 0; RP_BAD_INPUT names two traces
 */
int rp_repeats_of(struct rp_store *const *stores, size_t count, struct rp_repeats *ret,
                  struct rp_err *err);
void rp_repeats_free(struct rp_repeats *repeats);

#endif
