/**
 * @file remembered.h
 * @brief A runner that keeps every answer in a journal, and gives those that are there instead of
 *        running anything: a search that was killed goes on where it was, and one with other
 *        limits has what was run before. What is written: docs/format/autotune.md.
 *
 * Answers are found by configuration and purpose, not by their order, so the search may ask for
 * other configurations in between. Of the same search they come in the order of then.
 */
#ifndef RP_TUNE_REMEMBERED_H
#define RP_TUNE_REMEMBERED_H

#include "tune/runner.h"

struct rp_journal;
struct rp_space;

/**
 * @param journal  that of this search; answers are added to it
 * @param inner    who runs what the journal does not know; all of them have to live as long
 * @return 0; RP_ENVIRONMENT. Its next: RP_BAD_INPUT, too: an answer of the journal is none
 */
int rp_remembered_open(struct rp_journal *journal, const struct rp_space *space,
                       const struct rp_runner *inner, struct rp_runner *ret, struct rp_err *err);
/** Accepts zeros. */
void rp_remembered_close(struct rp_runner *runner);

/** How many answers were there already. */
size_t rp_remembered_count(const struct rp_runner *runner);

#endif
