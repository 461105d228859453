/**
 * @file check_runs.h
 * @brief This header checks on the software device what a kernel does to memory (docs/check.md),
 * in a run from the captured memory, and what it does that another one does not.
 *
 * A race, or a read of what nobody has written, may give the right result in every run here, and
 * not on a GPU. What the kernel that is taken for right does as well is an idiom of the program,
 * and condemns no other. Their instructions differ, so that two findings are the same where their
 * kind and the buffer are.
 */
#ifndef RP_REPLAY_CHECK_RUNS_H
#define RP_REPLAY_CHECK_RUNS_H

#include <stdbool.h>
#include <stddef.h>

#include "replay/atomic_changes.h"
#include "trace/check_file.h"

struct rp_err;
struct rp_replay_kernel;
struct rp_replay_trial;

/** What was found in a run of one kernel, without notes, and what its atomics did. */
struct rp_check_found {
    struct rp_check_finding *at;
    size_t count;
    struct rp_updates updates;
    bool clock; /**< it has read a clock */
};

/** Zero-initialise this struct, and set .asked. */
struct rp_check_runs {
    const char *asked;        /**< "races,bounds"; NULL: nothing */
    char what[40];            /**< of that: what was checked; "": not come to that. All words fit */
    const char *reason;       /**< why not all of it; NULL */
    const char *not_compared; /**< what there was no room for; NULL */
    struct rp_check_found base, other;
    size_t fresh; /**< how many of .other are not among .base: these come first there */
    struct rp_update_change change; /**< of atomics, where races are checked */
    bool clock;                     /**< the other reads a clock, and the base does not */
    char *words;                    /**< why the other is wrong, in a sentence; NULL: it is not */
};

/**
 * Runs both, if anything is asked for.
 * @param base   NULL: all that is found of the other is new
 * @param names  of both in sentences
 * @param ret_failed  set on failure: the kernel whose run failed; NULL: the device's fault
 */
int rp_check_runs_do(struct rp_check_runs *c, struct rp_replay_trial *trial,
                     const struct rp_replay_kernel *base, const struct rp_replay_kernel *other,
                     const char *const names[2], const struct rp_replay_kernel **ret_failed,
                     struct rp_err *err);

/** Prints what is new, and what was found of neither or of both, as lines of text. */
void rp_check_runs_print(const struct rp_check_runs *c, const char *const names[2]);

/** Prints the member "checks" of JSON: null where nothing is asked for. */
void rp_check_runs_print_json(const struct rp_check_runs *c, const char *end);

#endif
