/**
 * @file progress.h
 * @brief What a command is at, how far it is and how long that will take: on a terminal, from two
 *        seconds on, one line that changes; elsewhere nothing.
 *
 * Nobody else may write to the terminal meanwhile, who has not had the line cleared. While the
 * user's program runs there is none: what that prints, and when, is its own affair.
 */
#ifndef RP_CLI_PROGRESS_H
#define RP_CLI_PROGRESS_H

#include <stdint.h>

#include "cli/progress_line.h"

struct rp_buf;

enum { RP_PROGRESS_PATIENCE_S = 2 }; /**< what takes less is not worth a word */

struct rp_progress {
    struct rp_progress_line line;
    int64_t began_ns, step_ns, done_ns; /**< the command; what it is at; the last of done */
    const char *what;                   /**< NULL: nothing yet */
    uint64_t done, most;
};

struct rp_progress rp_progress_begin(void);

/**
 * What goes on now; shown when it is time.
 * @param what  "run": borrowed, and known again by its address
 * @param most  of which @p done are done; 0: nobody knows
 */
void rp_progress_at(struct rp_progress *progress, const char *what, uint64_t done, uint64_t most);

/** Before anything else is printed there, and at the end. */
void rp_progress_clear(struct rp_progress *progress);

/**
 * "run 3 of 40, 12 s left"; without a number of them, or before the first is done, "run, 12 s".
 * @param done_ns     when the last of those was done that are, counted from the first one's begin
 * @param elapsed_ns  what has passed since then in all
 */
void rp_progress_put(const char *what, uint64_t done, uint64_t most, int64_t done_ns,
                     int64_t elapsed_ns, struct rp_buf *to);

/**
 * Before a run of the user's program, a line that stays: "profile: run 2 of 3, 12 s left". The
 * program writes to this terminal, too, whenever it wants, and a line that changes would be in the
 * midst of that. Nothing without a terminal.
 * @param left_s  less than is worth a word, as 0 is: not said
 */
void rp_progress_say(const char *command, const char *what, double left_s);

/** ", 40 s left", ", 3 min left", ", 2.5 h left" */
void rp_progress_put_left(double seconds, struct rp_buf *to);

#endif
