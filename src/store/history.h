/**
 * @file history.h
 * @brief Opening the file of a history.
 */
#ifndef RP_STORE_HISTORY_H
#define RP_STORE_HISTORY_H

#include <stdbool.h>

#include <sqlite3.h>

struct rp_err;

/**
 * In a transaction: of writing, in which missing tables are made, or of reading.
 * @param ret  to be closed by the caller, also on failure
 */
int rp_history_open(const char *path, bool write, sqlite3 **ret, struct rp_err *err);

#endif
