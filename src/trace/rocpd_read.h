/**
 * @file rocpd_read.h
 * @brief What the parts of the reader share: rocpd_schema.c finds tables, rocpd_rows.c reads rows,
 *        rocpd_read.c is the public face.
 */
#ifndef RP_TRACE_ROCPD_READ_H
#define RP_TRACE_ROCPD_READ_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/intern.h"
#include "base/vec.h"
#include "trace/rocpd.h"
#include "trace/rocpd_schema.h"
#include "trace/sqlite_file.h"

struct rp_err;
struct rp_table_scan;
struct rp_store;
struct rp_work;

/* Rows of rocpd_event by (guid, id): which API call something belongs to.
 *
 * A trace has more of them than of anything else. Nearly all come in ascending order without a
 * gap, with small numbers; these take eight bytes each.
 */

enum { RP_MAX_GUIDS = 4096 }; /**< processes in one merged database */

struct rp_event_numbers {
    uint32_t call, parent; /**< of rp_event, where they are small */
};

/** Zero-initialise; release with rp_events_free. */
struct rp_events {
    struct rp_event_run *runs; /**< of ids without a gap; sorted by guid_index, id */
    size_t run_count;
    struct {
        RP_VEC(struct rp_event_numbers);
    } numbers;
    struct rp_event_odd *odd; /**< what fits no run; sorted */
    size_t odd_count;
    size_t last_run; /**< that something was found in */
    bool loaded;
};

struct rp_lookup {
    struct rp_keyed *rows; /**< sorted by guid_index, id */
    size_t count;
    bool loaded;
};

/** Where the rows of a table are: the un-suffixed view or table, else the suffixed tables. */
struct rp_relations {
    char **names;
    size_t count;
    bool suffixed;
};

struct rp_rowset {
    void *rows;
    size_t count;
    bool loaded;
};

struct rp_store {
    sqlite3 *db;
    char *path;
    char *named; /**< of CSV the one of its files that was named; else NULL */
    uint64_t size_bytes;
    const struct rp_work *work; /**< told how far it is, or NULL */
    uint64_t pages_read;        /**< since that was set */
    struct rp_table_scan *pass; /**< that runs now, or NULL */
    uint64_t steps_left;        /**< of the statement that runs now, in units of RP_STEP_OPS */
    struct rp_relations tables[RP_TABLE_COUNT];
    const char *schema;
    struct rp_string_pool text;
    const char *guids[RP_MAX_GUIDS];
    uint32_t guid_count;
    struct rp_lookup strings;
    struct rp_events events;
    struct rp_rowset rows[RP_ROWS_COUNT];
    struct rp_rowset counters;     /**< struct rp_row_counter */
    const char **metadata;         /**< tag, value, tag, value, ... */
    size_t metadata_count;         /**< pairs */
    struct rp_corrected_end *ends; /**< dispatches whose ends cannot be */
    size_t end_count;
    bool ends_known;
};

struct rp_event {
    int64_t call;   /**< correlation id of the call, 0 = unknown */
    int64_t parent; /**< of the call around it, 0 = none */
};

/** Loads them once. */
int rp_events_load(struct rp_store *s, struct rp_err *err);
/** @return whether there is such a row */
bool rp_events_find(struct rp_events *events, uint32_t guid_index, int64_t id,
                    struct rp_event *ret);
void rp_events_free(struct rp_events *events);

/** A row of rocpd_string, found by (guid, id). */
struct rp_keyed {
    int64_t id;
    const char *text;
    uint32_t guid_index;
};

/** A store of a database in memory, which it takes; its one process is called @p path, cut. */
int rp_store_adopt(sqlite3 *db, const char *path, size_t path_len, uint64_t size_bytes,
                   struct rp_store **ret, struct rp_err *err);

/** Finds the tables and the schema; fails when one that every version has is missing. */
int rp_relations_find(struct rp_store *s, struct rp_err *err);
/** Has the database any table of rocpd? True also when it cannot be read. */
bool rp_relations_exist(sqlite3 *db);
void rp_relations_free(struct rp_relations *r);
/**
 * Columns of a relation as a prepared statement without rows; NULL when it does not work, such as
 * a view whose table is gone.
 */
int rp_relation_columns(sqlite3 *db, const char *relation, sqlite3_stmt **ret, struct rp_err *err);
/** Result column of that name, in any letter case, or -1. */
int rp_column_at(sqlite3_stmt *stmt, const char *name);

/** Loads the rows once. */
int rp_load_rows(struct rp_store *s, enum rp_rows rows, struct rp_err *err);
/** Hands over the rows in the order of the database; nothing is kept. */
int rp_each_row(struct rp_store *s, enum rp_rows rows, rp_store_row_fn *fn, void *ctx,
                struct rp_err *err);
int rp_load_metadata(struct rp_store *s, struct rp_err *err);
/** Row with that id in a set that is sorted by (guid_index, id), or NULL. */
const void *rp_find_row(const struct rp_store *s, enum rp_rows rows, uint32_t guid_index,
                        int64_t id);

/* One pass of SELECT over the relations of a table.
 *
 * Columns are found by name, so that neither their order nor later additions matter; joins are done
 * by the callers, on (guid, id), because some databases lack the rows that rocpd's own views join
 * with.
 */

enum { RP_TABLE_SCAN_COLUMNS = 32 };

typedef int rp_table_scan_fn(struct rp_table_scan *pass, uint32_t guid, void *ctx,
                             struct rp_err *err);

struct rp_table_scan {
    struct rp_store *store;
    enum rp_table table;
    const char *const *columns;
    size_t column_count;
    bool keep_texts; /**< else a text is lent until the next row */
    rp_table_scan_fn *on_row;
    void *ctx;
    struct rp_err *err;
    int failed; /**< what on_row returned that ended the pass */
    sqlite3_stmt *stmt;
    sqlite3_value **values;           /**< of the row, from SQLite; or */
    const struct rp_cell *cells;      /**< from the file */
    uint64_t skip;                    /**< rows to come that were handed over already */
    const struct rp_pages_scan *scan; /**< of the cells, or NULL */
    unsigned rows_since_report;       /**< rows since it was told how far it is */
    char *lent;                       /**< texts of the row that need room */
    size_t lent_used, lent_room;
    int at[RP_TABLE_SCAN_COLUMNS]; /**< value of each wanted column, -1: the relation lacks it */
    int guid_at;
    uint32_t guid; /**< of all rows when there is no guid column, else of the last row */
    bool guid_known;
    size_t guid_len;
    char guid_bytes[64]; /**< of the last row, as they are stored */
};

/** Set columns, column_count, keep_texts before; on_row is called for every row. */
struct rp_table_scan_request {
    enum rp_table table;
    const char *const *columns;
    size_t column_count;
    const bool *required; /**< per column, or NULL */
    bool keep_texts;
};

/** Once per store, before the first pass. */
int rp_table_scan_prepare(struct rp_store *s, struct rp_err *err);

int rp_table_scan_each(struct rp_store *s, const struct rp_table_scan_request *order,
                       rp_table_scan_fn *on_row, void *ctx, struct rp_err *err);

/** As rp_table_scan_number, of a value that may be anything. */
int rp_table_scan_any_number(struct rp_table_scan *pass, size_t column, int64_t if_null,
                             int64_t *ret, struct rp_err *err);

int rp_table_scan_real(struct rp_table_scan *pass, size_t column, double *ret, struct rp_err *err);
int rp_table_scan_text(struct rp_table_scan *pass, size_t column, const char *if_null,
                       const char **ret, struct rp_err *err);

/** @return 0; RP_BAD_INPUT for a text: it would silently become 0 */
static inline int rp_table_scan_number(struct rp_table_scan *pass, size_t column, int64_t if_null,
                                       int64_t *ret, struct rp_err *err)
{
    int at = pass->at[column];

    if (pass->cells && at >= 0 && pass->cells[at].type == RP_CELL_INTEGER) {
        *ret = pass->cells[at].number;
        return 0;
    }
    return rp_table_scan_any_number(pass, column, if_null, ret, err);
}

#endif
