/**
 * @file remembered.h
 * @brief A runner that keeps every answer in a journal, and first gives those that are there: a
 *        search that was killed goes on where it was. What is written: docs/format/autotune.md.
 */
#ifndef RP_TUNE_REMEMBERED_H
#define RP_TUNE_REMEMBERED_H

#include "tune/runner.h"

struct rp_journal;
struct rp_space;

/**
 * @param journal  that of this search; answers are added to it
 * @param inner    who runs what the journal does not know; all of them have to live as long
 * @return 0; RP_BAD_INPUT: the journal's answers are none of this space; RP_ENVIRONMENT
 */
int rp_remembered_open(struct rp_journal *journal, const struct rp_space *space,
                       const struct rp_runner *inner, struct rp_runner *ret, struct rp_err *err);
/** Accepts zeros. */
void rp_remembered_close(struct rp_runner *runner);

/** How many answers were there already. */
size_t rp_remembered_count(const struct rp_runner *runner);

#endif
