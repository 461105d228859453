/**
 * @file adopted.h
 * @brief Processes whose parents have ended before them: they become ours while a program runs, so
 *        that what it leaves behind can be waited for and killed, whatever group it has moved to.
 *
 * Meanwhile a daemon of the program has this process for its parent, not number 1.
 */
#ifndef RP_BASE_ADOPTED_H
#define RP_BASE_ADOPTED_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** The children this process had before: they are nobody's business. */
struct rp_adopted {
    pid_t *before;
    size_t befores;
    bool adopts_anyway;      /**< as it was found */
    struct sigaction on_end; /**< SIGCHLD, as it was found */
};

/**
 * From here on this process adopts, and hears how its children end: who has SIGCHLD ignored, as
 * some programs leave it to those they start, does not. Before Linux 3.5, or without /proc, nothing
 * is ever found.
 */
void rp_adopted_begin(struct rp_adopted *ret);

/** Adopts no more; those that it has stay. Frees what begin took. */
void rp_adopted_end(struct rp_adopted *adopted);

/** In a child: SIGCHLD is what it would be without us. */
void rp_adopted_leave(const struct rp_adopted *adopted);

/**
 * Sends a signal (0: none) to each child but `except` and those of before, and reaps those that
 * have ended.
 * @return how many there were, ended ones included: their children may have come to us meanwhile
 */
size_t rp_adopted_signal(const struct rp_adopted *adopted, pid_t except, int signo);

/** Kills them until none is left: each round makes orphans of its victims' children, which come to
 *  us. */
void rp_adopted_kill(const struct rp_adopted *adopted, pid_t except);

#endif
