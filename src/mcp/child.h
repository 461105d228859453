/**
 * @file child_run.h
 * @brief The command of a call while it runs: in a process group of its own, with nothing to read.
 *
 * When it has ended, or is to end, everything that it has started goes with it, in whatever group.
 */
#ifndef RP_MCP_CHILD_H
#define RP_MCP_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/process.h"

struct rp_err;
struct rp_proc;

/** Zero-initialise; pid == 0: none runs. */
struct rp_mcp_child {
    pid_t pid;
    int pidfd;             /**< readable when it has ended; -1 before Linux 5.3 */
    int out, err;          /**< what it says, never waited for; -1: it has closed that */
    unsigned asked;        /**< how often it was asked to end */
    long long next_ask_ms; /**< on the monotonic clock */
    struct rp_orphans adopted;
};

/** @param proc  path, argv and directory are of use */
int rp_mcp_child_start(const struct rp_proc *proc, struct rp_mcp_child *ret, struct rp_err *err);

/** Asks it to end. */
void rp_mcp_child_end(struct rp_mcp_child *child);

/** Milliseconds until rp_mcp_child_has_ended should look again; -1: when an fd is readable. */
int rp_mcp_child_patience_ms(const struct rp_mcp_child *child);

/** Asks again, and at last kills it, if it was asked to end and takes its time. Reaps nothing. */
bool rp_mcp_child_has_ended(struct rp_mcp_child *child);

/**
 * Once it has ended: kills what it has left behind, and forgets it. Its out and err are the
 * caller's to close.
 * @return the exit status, or 128 and the signal's number
 */
int rp_mcp_child_reap(struct rp_mcp_child *child);

#endif
