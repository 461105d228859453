/**
 * @file history_commit.h
 * @brief Which commit is checked out here.
 */
#ifndef RP_CLI_HISTORY_COMMIT_H
#define RP_CLI_HISTORY_COMMIT_H

struct rp_err;

/**
 * Of the git work tree of the current folder, with "-dirty" where tracked files are changed.
 * @param ret  to be freed; NULL: there is no git, or no commit
 * @return 0; RP_ENVIRONMENT: out of memory
 */
int rp_history_commit(char **ret, struct rp_err *err);

#endif
