/**
 * @file sqlite_pages.h
 * @brief A value of a row, as SQLite stores it.
 */
#ifndef RP_TRACE_SQLITE_PAGES_H
#define RP_TRACE_SQLITE_PAGES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Records of SQLite tables (SQLite file format, section 2.1). */

enum { RP_RECORD_VALUES = 64, RP_RECORD_PAD_BYTES = 8, RP_RECORD_HEADER_BYTES = 64 };

/** Which columns of a table are wanted, and where. */
struct rp_wanted {
    struct {
        uint16_t column;         /**< of the record */
        uint16_t value;          /**< index of the cell */
    } columns[RP_RECORD_VALUES]; /**< in the order of the record */
    size_t column_count;
    uint16_t rowids[RP_RECORD_VALUES]; /**< cells that are the row's id */
    size_t rowid_count;
};

/* Pages of an SQLite database, read through the file that SQLite has open. */

enum { RP_LARGEST_PAGE_BYTES = 1 << 16 };

/** Zero-initialise; release with rp_pages_free. */
struct rp_pages {
    sqlite3_file *file;    /**< SQLite's: another descriptor of it, closed, would end its locks */
    sqlite3_stmt *reading; /**< holds the read transaction */
    uint32_t page_bytes;
    uint32_t usable_bytes; /**< of a page */
    uint32_t page_count;
    unsigned char *window; /**< pages that follow each other */
    uint32_t first, count; /**< its pages */
    uint32_t ahead;        /**< pages read at once: more as long as they follow each other */
    uint64_t read;         /**< in all */
};

/**
 * Begins reading. Nothing is written to the file until rp_pages_free.
 * @return false: these pages can only be read by SQLite
 */
bool rp_pages_begin(sqlite3 *db, struct rp_pages *ret);
void rp_pages_free(struct rp_pages *pages);

/* Rows of an SQLite table from the leaves of its tree, in the order of their ids (SQLite
 *        file format, section 1.6).
 *
 * SQLite's own way to a value costs several times as much as its bytes. What is unusual, and all
 * that is damaged, is left to SQLite: this only ever stops there.
 */

/** Cells of a row, lent until it returns. @return negative: end */
typedef int rp_leaves_fn(void *ctx, const struct rp_cell *cells);

/**
 * Hands over the rows of the table whose tree has that root.
 * @param ret_rows counts them
 * @return 0, also when rows are left; or what fn returned
 */
int rp_leaves_each(struct rp_pages *pages, uint32_t root, const struct rp_wanted *wanted,
                   rp_leaves_fn *fn, void *ctx, uint64_t *ret_rows, bool *ret_all);

/* Whether a statement only goes through one table from its first row to its last. */

/**
 * Asks SQLite how it would run "SELECT aggregate(column, ...) FROM relation", which sees through
 * views.
 * @param ret_root first page of the table
 * @param ret_wanted the cells are the aggregate's arguments
 * @return false: it does more than hand over stored values, or in a way that is not known here
 */
bool rp_plan_scan(sqlite3 *db, const char *sql, const char *aggregate, uint32_t *ret_root,
                  struct rp_wanted *ret_wanted);

#endif
