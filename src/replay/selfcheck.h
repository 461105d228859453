/**
 * @file selfcheck.h
 * @brief Does a capture replay to its own state? (self_check.json, docs/format/capture.md)
 */
#ifndef RP_REPLAY_SELFCHECK_H
#define RP_REPLAY_SELFCHECK_H

#include <stdbool.h>

#include "base/err.h"
#include "replay/replay.h"

enum rp_self_label {
    RP_SELF_UNKNOWN, /**< this machine cannot tell */
    RP_SELF_DETERMINISTIC,
    RP_SELF_ORDER_DEPENDENT,
    RP_SELF_NOT_REPLAYABLE,
};

enum { RP_SELF_NUMBER_TYPES = 4 };

struct rp_replay_self_check {
    enum rp_self_label label;
    char reason[RP_ERR_TEXT_BYTES]; /**< "": none is needed */
    unsigned runs, equal_runs;
    struct rp_replay_verdict first; /**< of the first run that differs */
    /* Over all runs that differ. */
    uint64_t hash; /**< of what differs in the first of them */
    bool vary;     /**< they differ from each other */
    bool outside;  /**< they differ where the captured dispatch changed nothing */
    bool far[RP_SELF_NUMBER_TYPES];
};

/** Runs the captured kernel. Memory is mapped. */
void rp_self_check_run(struct rp_replay *r, const char *hsaco, const char *kernarg, unsigned runs,
                       struct rp_replay_self_check *ret);
/** As a file. @param gpu  "": not known */
void rp_self_check_print(const struct rp_replay_self_check *check, const struct rp_replay *r,
                         const char *rocm);

#endif
