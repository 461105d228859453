/**
 * @file patience.h
 * @brief How long programs of a session may take, and what its user sees meanwhile.
 */
#ifndef RP_OPTIMIZE_PATIENCE_H
#define RP_OPTIMIZE_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

struct rp_err;
struct rp_proc_end;

/** What runs. */
enum rp_runs {
    RP_RUNS_ORIGINAL,  /**< the program with the best source so far */
    RP_RUNS_LONGER,    /**< the same under something that makes it slow: a deep profile, captures */
    RP_RUNS_CANDIDATE, /**< the program with a candidate */
    RP_RUNS_REPLAY     /**< no program but `replay compare`: what it finds is not for its time */
};

struct rp_patience {
    int64_t timeout_ns; /**< --timeout: of each run of the program; 0: not said */
    int64_t end_ns;     /**< of --budget, on CLOCK_MONOTONIC; 0: none */
    int64_t longest_ns; /**< that RP_RUNS_ORIGINAL took; 0: not known */
    bool modelled;      /**< times are: how long a run takes is a matter of this machine only */
    bool by_budget;     /**< what the last rp_patience_for said is what the budget has left */
    bool over;          /**< a child was ended by the budget */
    void (*waiting)(void *context, int64_t elapsed_ns); /**< while a child runs; may be NULL */
    void *context;
};

/** Of CLOCK_MONOTONIC. */
int64_t rp_patience_now_ns(void);

/** @return what a run that begins now may take, at least 1 ns */
int64_t rp_patience_for(struct rp_patience *patience, enum rp_runs what);

/**
 * What to make of the end of the run for which rp_patience_for was asked last.
 * @return 0; RP_VERDICT when the budget has ended it: that says nothing about what ran;
 *         RP_ENVIRONMENT: a comparison that this machine could not make in time
 */
int rp_patience_note(struct rp_patience *patience, enum rp_runs what, const struct rp_proc_end *end,
                     struct rp_err *err);

/** How long a program was waited for, half a sentence, the same each time: "within the 5 s of
 * --timeout". Free it; NULL: out of memory. */
char *rp_patience_text(const struct rp_patience *patience, enum rp_runs what);

#endif
