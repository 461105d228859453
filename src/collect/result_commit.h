/**
 * @file result_commit.h
 * @brief Puts a new result in the place of the one before, so that a kill at any moment loses
 *        neither.
 *
 *     DIR/.rocm-perf-complete/  the whole new result: from here on it is the result
 *     DIR/.rocm-perf-former/    the result before, on its way out
 *     DIR/.rocm-perf-moving/    the new one, once nothing of the one before stands in its way
 *
 * Each step is one rename. A process that is killed before the first of these folders exists has
 * changed nothing; what a later one leaves unfinished, rp_result_settle finishes. DIR/profile.json
 * is there all the time, the old one or the new one.
 */
#ifndef RP_COLLECT_RESULT_COMMIT_H
#define RP_COLLECT_RESULT_COMMIT_H

struct rp_err;

/**
 * Makes the contents of @p partial, a folder in @p dir, the result in @p dir.
 * @return 0; RP_ENVIRONMENT with the result before in place, or with a message that says where the
 *         new one is
 */
int rp_result_commit(const char *dir, const char *partial, struct rp_err *err);

/** Finishes the commit of a process that was killed, if there is one. @return 0 or RP_ENVIRONMENT
 */
int rp_result_settle(const char *dir, struct rp_err *err);

#endif
