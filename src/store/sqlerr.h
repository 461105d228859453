/**
 * @file sqlerr.h
 * @brief SQLite results as rp_err.
 */
#ifndef RP_STORE_SQLERR_H
#define RP_STORE_SQLERR_H

#include "base/cleanup.h"

#include <sqlite3.h>

struct rp_err;

/** Describes the last failure of @p db; RP_ENVIRONMENT for memory and files, else RP_BAD_INPUT. */
int rp_sql_fail(sqlite3 *db, int result, struct rp_err *err);

/** Runs statements without results. */
int rp_sql_exec(sqlite3 *db, const char *sql, struct rp_err *err);

static inline void rp_cleanup_stmt(sqlite3_stmt **slot)
{
    sqlite3_finalize(*slot);
}

#define rp_autostmt rp_cleanup(rp_cleanup_stmt) sqlite3_stmt

#endif
