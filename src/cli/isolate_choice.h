/**
 * @file isolate_choice.h
 * @brief Options of rocm-perf isolate that say which dispatches are to be captured.
 */
#ifndef RP_CLI_ISOLATE_CHOICE_H
#define RP_CLI_ISOLATE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/capture_stream.h"

struct rp_err;

/** Zeroed: the first dispatch that matches. Owned; release with rp_isolate_choice_free. */
struct rp_isolate_choice {
    struct rp_snapshot_selection selection; /**< complete after rp_isolate_choice_finish */
    uint64_t *numbers;
    size_t count;
    bool longest, representative, has_most;
    bool several; /**< after rp_isolate_choice_finish: each capture gets a folder of its own */
};

/** --dispatch 1,3,7: adds to those before. All of these return 0 or RP_USAGE. */
int rp_isolate_choose_dispatches(struct rp_isolate_choice *choice, const char *word,
                                 struct rp_err *err);
/** --grid, --workgroup X[,Y,Z]. @param filter  enum rp_snapshot_filter */
int rp_isolate_choose_size(struct rp_isolate_choice *choice, enum rp_snapshot_filter filter,
                           const char *word, struct rp_err *err);
/** --queue, --stream, --gpu N. */
int rp_isolate_choose_number(struct rp_isolate_choice *choice, enum rp_snapshot_filter filter,
                             const char *word, struct rp_err *err);
/** One that was found. */
int rp_isolate_choose_number_of(struct rp_isolate_choice *choice, uint64_t match,
                                struct rp_err *err);
/** --most N. */
int rp_isolate_choose_most(struct rp_isolate_choice *choice, const char *word, struct rp_err *err);

/** Whether anything was chosen. */
bool rp_isolate_choice_is_made(const struct rp_isolate_choice *choice);

/** All options are there: refuses what makes no sense together, fills what was left out. */
int rp_isolate_choice_finish(struct rp_isolate_choice *choice, struct rp_err *err);
void rp_isolate_choice_free(struct rp_isolate_choice *choice);

#endif
