/**
 * @file history.h
 * @brief Opening the file of a history.
 */
#ifndef RP_STORE_HISTORY_H
#define RP_STORE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

struct rp_err;

/** Zeroed: closed. The connection points to it: it stays where it is while it is open. */
struct rp_history_file {
    sqlite3 *db;
    bool is_empty;       /**< it has no tables so far */
    bool out_of_steps;   /**< a statement was stopped: the file would keep us busy */
    uint64_t steps_left; /**< of the whole transaction, in units of some virtual machine steps */
};

/**
 * In a transaction: of writing, in which missing tables are made, or of reading. The file is the
 * input of anybody: it is opened only if it has the tables that some rocm-perf made and nothing
 * else, and if its pages are sound.
 * @param ret  to be closed by the caller, also on failure
 * @return 0; RP_USAGE: the path is no name of a file; RP_BAD_INPUT; RP_ENVIRONMENT
 */
int rp_history_open(const char *path, bool write, struct rp_history_file *ret, struct rp_err *err);

/** Takes back what was not committed. */
void rp_history_close(struct rp_history_file *file);

/** What became of a statement. */
int rp_history_fail(struct rp_history_file *file, int result, struct rp_err *err);

#endif
