/**
 * @file request.h
 * @brief What rocm-perf-replay is asked to do, and what comes of it.
 */
#ifndef RP_REPLAY_REQUEST_H
#define RP_REPLAY_REQUEST_H

#include "replay/candidate.h"

struct rp_replay_request {
    const char *action, *folder, *library, *rocm;
    unsigned long iterations, warmup;
    bool json, verify, stateful, again, probe;
    const char *candidate; /**< a code object in place of the captured one; or NULL */
    const char *compare;   /**< as given */
    struct rp_compare_rule rule;
    char *hsaco, *kernarg;
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
};

/** As JSON. */
void rp_replay_put_string(const char *text);
void rp_replay_print_json(const struct rp_replay *r, const struct rp_replay_request *q,
                          const struct rp_replay_result *result);
void rp_replay_print_text(const struct rp_replay *r, const struct rp_replay_request *q,
                          const struct rp_replay_result *result);

#endif
