/**
 * @file session_files.h
 * @brief The difference of two texts as a unified diff, which patch(1) and git apply take.
 */
#ifndef RP_OPTIMIZE_SESSION_FILES_H
#define RP_OPTIMIZE_SESSION_FILES_H

#include <stdbool.h>

#include "base/err.h"
#include "base/journal.h"
#include "base/sha256.h"
#include "experiment/child_run.h"
#include "experiment/judge.h"
#include "experiment/verdict.h"
#include "optimize/kernel_facts.h"
#include "optimize/kernel_source.h"
#include "optimize/model_proposer.h"
#include "optimize/program_test.h"
#include "optimize/session.h"

struct rp_session;

/* The files of a session share these. */

void rp_session_message(const struct rp_session *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Says whether the file has the hash in a record of the journal, or the record has none. */
bool rp_session_is_file(const char *path, const json_t *data, const char *key);
/** Says whether there is time for something new, or the journal has its result. */
bool rp_session_may_begin(struct rp_session *s, const char *kind, const char *key);

/**
 * Reports the end of the budget within a run, which is no failure, but decides nothing.
 * @return 0 for that; else rc
 */
int rp_session_excuse_budget_end(struct rp_session *s, int rc, struct rp_err *err);

#endif
