/**
 * @file rocpd_schema.h
 * @brief This header opens files of SQLite: what they are, how they fail, and their rows.
 */
#ifndef RP_TRACE_ROCPD_SCHEMA_H
#define RP_TRACE_ROCPD_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "trace/sqlite.h"

struct rp_err;

/**
 * Describes the last failure of @p db.
 * @return RP_ENVIRONMENT for memory and files, else RP_BAD_INPUT
 */
int rp_sql_fail(sqlite3 *db, int result, struct rp_err *err);

/** Runs statements without results. */
int rp_sql_exec(sqlite3 *db, const char *sql, struct rp_err *err);

#define rp_autostmt rp_cleanup(rp_cleanup_stmt) sqlite3_stmt

/* What a file is, before and after SQLite has seen it. */

/**
 * Opens a database read-only and fails unless its header says that it is complete. SQLite leaves a
 * file in the folder only if there is a log with data.
 */
int rp_probe_open(const char *path, sqlite3 **ret, uint64_t *ret_bytes, struct rp_err *err);

/**
 * Makes SQLite read the schema, up to some number of its rows. It looks each name up among all
 * before it, so that a million of them would take hours.
 * @return SQLITE_OK; SQLITE_INTERRUPT when there are more; what SQLite says
 */
int rp_probe_schema(sqlite3 *db, unsigned most);

/* Rows of a table are read without SQLite, which spends several times as long on a value as its
 * bytes need.
 */

enum rp_cell_type {
    RP_CELL_NULL,
    RP_CELL_INTEGER,
    RP_CELL_REAL,
    RP_CELL_TEXT, /**< or a blob */
};

struct rp_cell {
    union {
        int64_t number;
        double real;
        const unsigned char *bytes; /**< UTF-8, without a zero behind them */
    };
    uint32_t len; /**< of the text */
    enum rp_cell_type type;
};

enum { RP_LARGEST_PAGE_BYTES = 1 << 16 };

/** Takes the cells of a row, which are lent until it returns. @return negative: end */
typedef int rp_leaves_fn(void *ctx, const struct rp_cell *cells);

/** Set fn and ctx, else zero-initialise. */
struct rp_pages_scan {
    rp_leaves_fn *fn;
    void *ctx;
    uint64_t pages_read; /**< so far */
    uint32_t page_count; /**< of the file */
    uint64_t rows;       /**< handed over, from the first one */
    bool is_all;         /**< no row is left for SQLite to read */
};

/**
 * Hands over the rows of "SELECT aggregate(column, ...) FROM relation" in the order of their ids,
 * with the aggregate's arguments as cells. It works only where the statement goes through one
 * table. Nothing may be written to the file meanwhile.
 * @return 0, also when rows are left; or what fn returned
 */
int rp_pages_scan(sqlite3 *db, const char *sql, const char *aggregate, struct rp_pages_scan *scan);

static inline void rp_cleanup_stmt(sqlite3_stmt **slot)
{
    sqlite3_finalize(*slot);
}

#endif
