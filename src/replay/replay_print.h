/**
 * @file replay_print.h
 * @brief This header says what rocm-perf-replay is asked to do, and what comes of it.
 */
#ifndef RP_REPLAY_REPLAY_PRINT_H
#define RP_REPLAY_REPLAY_PRINT_H

#include <stdbool.h>

#include "replay/ab_test.h"
#include "replay/check_runs.h"
#include "replay/input_variation.h"
#include "replay/output_rules.h"
#include "replay/replay.h"
#include "replay/replay_trial.h"

struct rp_replay_request {
    struct rp_replay_options o;
    struct rp_compare_rule rule; /**< of o.compare */
    /** These code objects run in place of the captured one; they may be NULL. */
    const char *candidates[RP_REPLAY_CANDIDATES];
    char *code, *kernarg; /**< files of the capture */
};

struct rp_replay_result {
    double *samples;
    unsigned long count;
    bool verified;
    struct rp_replay_verdict verdict;
    bool restored_all; /**< all memory between runs: the kernel changes more than it did */
    struct rp_replay_trial trial;     /**< of a candidate */
    struct rp_replay_outcome outcome; /**< of the first run of it that was wrong, or the last */
    unsigned long checked_runs, wrong_runs;
    bool late; /**< what is wrong was found after timed runs, where no run writes */
    struct rp_variation_runs varied;
    struct rp_replay_outcome varied_outcome;
    struct rp_check_runs checks;
};

/** Tests whether nothing of the program's memory is left out. */
static inline bool rp_replay_is_complete(const struct rp_replay *r)
{
    return rp_capture_contents(r->capture)->refusal_count == 0;
}

void rp_replay_put_string(const char *text);
/** Prints text or JSON, as the request says. */
void rp_replay_print(const struct rp_replay *r, const struct rp_replay_request *q,
                     const struct rp_replay_result *result);
void rp_comparison_print(const struct rp_replay *r, const struct rp_replay_request *q,
                         const struct rp_replay_comparison *c);

#endif
