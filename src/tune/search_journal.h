/**
 * @file search_journal.h
 * @brief Keeps the journal of a search: it says what its answers are answers to, and which search
 * may go on with it. docs/formats.md describes the format.
 */
#ifndef RP_TUNE_SEARCH_JOURNAL_H
#define RP_TUNE_SEARCH_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "tune/program_runner.h"
#include "tune/search.h"

struct rp_err;
struct rp_journal;
struct rp_session_folder;
struct rp_space;

/** The journal records this of a search. */
struct rp_search_identity {
    const struct rp_search_options *search;
    const struct rp_program_runner_options *live;
    const struct rp_runner *runner;
    const char *objective;
    const char *recording; /**< of a simulation: SHA-256 of what was recorded; NULL */
};

/**
 * Opens the journal of a claimed folder: a new one, or, to resume, that which is there. One without
 * an answer begins anew in any case. What a number of another search would mean something else for
 * is refused; all other options may differ, and are kept as a record of their own when they do.
 * @return 0; RP_USAGE naming what differs; RP_BAD_INPUT: it is damaged; RP_ENVIRONMENT
 */
int rp_search_journal_open(struct rp_session_folder *folder,
                           const struct rp_search_identity *identity, struct rp_err *err);

/** Writes what shows from now on when the end of the journal is missing.
 * @return 0 or RP_ENVIRONMENT */
int rp_search_journal_end(const struct rp_session_folder *folder, struct rp_err *err);

/* This runner keeps every answer in a journal, and gives the answers that are there instead of
 * running anything. So a search that was killed goes on where it was, and one with other limits
 * reuses earlier runs. docs/formats.md says what is written. Answers are found by configuration and
 * purpose, not by their order, so the search may ask for other configurations in between. Answers
 * of the same search come in the order of then. */

/**
 * @param folder that of this search, with its journal open; answers are added to it
 * @param numbers how many of objectives and limits each sample has
 * @param inner runs what the journal does not know; all of these must live as long as the runner
 * @param ret its next also returns RP_ENVIRONMENT when something failed on a full disk, and
 * RP_BAD_INPUT for a line that is no answer
 */
void rp_journal_runner_open(const struct rp_session_folder *folder, const struct rp_space *space,
                            size_t numbers, const struct rp_runner *inner, struct rp_runner *ret);
/** Accepts zeros. */
void rp_journal_runner_close(struct rp_runner *runner);

/** Counts the answers that were there already. */
size_t rp_journal_runner_count(const struct rp_runner *runner);

#endif
