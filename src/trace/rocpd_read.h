/**
 * @file rocpd_read.h
 * @brief This header says what the parts of the reader and the writer share: rocpd_schema.c has the
 * schema and finds tables, rocpd_scan.c reads values, rocpd_rows.c rows, rocpd_read.c is the public
 * face.
 */
#ifndef RP_TRACE_ROCPD_READ_H
#define RP_TRACE_ROCPD_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "trace/rocpd.h"
#include "trace/rocpd_schema.h"
#include "trace/sqlite.h"

struct rp_err;
struct rp_table_scan;
struct rp_store;
struct rp_work;

/* The rocpd 3.0.0 schema is data: the writer creates it, and the reader knows its names. */

/** RP_TABLE_info_agent stands for rocpd_info_agent. */
enum rp_table {
#define TABLE(t) RP_TABLE_##t,
#define COLUMN(t, c, type)
#define REFER(t, c, type, target)
#include "trace/rocpd_schema.def"
#undef TABLE
#undef COLUMN
#undef REFER
    RP_TABLE_WRITTEN_COUNT, /**< what follows is not of 3.0.0, and not in every database */
    RP_TABLE_hip_event = RP_TABLE_WRITTEN_COUNT, /**< 3.0.4: read, not written */
    RP_TABLE_timestamp,                          /**< draft of schema 4 */
    RP_TABLE_dependency,                         /**< the suite's own, as the next */
    RP_TABLE_replay,
    RP_TABLE_pc_sampling, /**< of some builds of rocprofv3 */
    RP_TABLE_collective,  /**< of what the PyTorch profiler says, never in a file */
    RP_TABLE_COUNT
};

enum { RP_GUID_BYTES = 37 }; /**< 8-4-4-4-12 hexadecimal digits and the terminator */

/** Returns a name such as "rocpd_info_agent". */
const char *rp_table_name(enum rp_table table);

/**
 * Creates the suffixed tables, the un-suffixed views and the derived views.
 * @param guid  with dashes; names the tables with underscores
 */
int rp_schema_create(sqlite3 *db, const char *guid, struct rp_err *err);

/** Creates a table of the suite's own, RP_TABLE_dependency or RP_TABLE_replay, and its view. */
int rp_schema_create_own(sqlite3 *db, enum rp_table table, const char *guid, struct rp_err *err);

/** Writes @p guid with every '-' as '_' into @p ret. */
static inline void rp_schema_suffix(const char *guid, char ret[RP_GUID_BYTES])
{
    size_t i;

    for (i = 0; guid[i] && i < RP_GUID_BYTES - 1; i++)
        ret[i] = guid[i] == '-' ? '_' : guid[i];
    ret[i] = '\0';
}

/* These tables say how the fields of the row structs of rocpd.h lie in the columns of rocpd's
 * tables. The writer binds by them and the reader loads by them, so the two cannot disagree.
 */

enum rp_kind {
    RP_KIND_ID,         /**< int64_t: the row's own id */
    RP_KIND_INT,        /**< int64_t */
    RP_KIND_TIME,       /**< int64_t: 0 is NULL */
    RP_KIND_KNOWN,      /**< int64_t: negative is NULL, unknown */
    RP_KIND_REF,        /**< int64_t: id of a row of another table, negative is NULL. The kinds up
                           to here are whole numbers that are taken as they are */
    RP_KIND_REAL,       /**< double: NULL is 0 */
    RP_KIND_THREAD,     /**< int64_t: as REF, but 0 too is unknown */
    RP_KIND_TEXT,       /**< const char * */
    RP_KIND_JSON,       /**< const char *: JSON object, NULL is {} */
    RP_KIND_STRING,     /**< const char *: stored as an id of rocpd_string */
    RP_KIND_TYPE,       /**< bool: 'GPU' or 'CPU' */
    RP_KIND_STORAGE,    /**< the two storage_ fields of a code object */
    RP_KIND_EVENT,      /**< int64_t correlation id: stored in a row of rocpd_event */
    RP_KIND_EVENT_BOTH, /**< int64_t[2]: as EVENT, then the id of that row (not written) */
    RP_KIND_EVENT_ROW,  /**< int64_t[3]: id of the row of rocpd_event, correlation id, parent */
    /* Written from what the writer knows, not read: */
    RP_KIND_NODE,      /**< id of the node row */
    RP_KIND_PROCESS,   /**< id of the process row */
    RP_KIND_PARENT,    /**< the process's parent */
    RP_KIND_NO_REGION, /**< id of the empty string */
    RP_KIND_WRITTEN,   /**< const char *: as TEXT; nothing here has a use for it */
};

struct rp_column {
    const char *name;
    enum rp_kind kind;
    size_t offset;           /**< of the field in the row struct */
    bool required;           /**< a database without this column cannot be understood */
    enum rp_table refers_to; /**< REF, THREAD */
};

struct rp_spec {
    enum rp_table table;
    const char *what;     /**< "dispatch", for messages */
    const char *category; /**< of the event row, or NULL if the table has none */
    bool required;        /**< every rocpd database has the table */
    bool numbered;        /**< id 0 asks the writer for the next free id */
    bool read_only;       /**< the writer does not know these rows, or not from the start */
    const struct rp_column *columns;
    size_t column_count;
    size_t row_bytes;
    size_t guid_offset;
};

/** This is a counter that was collected. */
struct rp_row_pmc {
    int64_t id;
    const char *name; /**< "SQ_WAVES" */
    uint32_t guid_index;
};

/** This is what one instance of the hardware counted. */
struct rp_row_pmc_event {
    int64_t id;
    int64_t event_id, pmc_id; /**< of the dispatch, of the counter; -1 = none */
    int64_t sample_id; /**< -1 = the whole dispatch, else one of its samples (SPM, schema 3.0.3) */
    double value;
    uint32_t guid_index;
};

extern const struct rp_spec rp_specs[RP_ROWS_COUNT];

/* Rows of rocpd_event are found by (guid, id); they say which API call something belongs to. A
 * trace has more of them than of anything else. Nearly all ids ascend without a gap from small
 * numbers, so these rows take eight bytes each.
 */

enum { RP_MAX_GUIDS = 4096 }; /**< processes in one merged database */

struct rp_event_numbers {
    uint32_t call, parent; /**< of rp_event, where they are small */
};

/** Zero-initialise it and release it with rp_events_free(). */
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

/** The rows of a table are in the un-suffixed view or table, or else in the suffixed tables. */
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
/** Tests whether the database has any table of rocpd. @return true also when it cannot be read */
bool rp_relations_exist(sqlite3 *db);
void rp_relations_free(struct rp_relations *r);
/**
 * Prepares a statement that gives the columns of a relation without rows. It is NULL when it does
 * not work, for example for a view whose table is gone.
 */
int rp_relation_columns(sqlite3 *db, const char *relation, sqlite3_stmt **ret, struct rp_err *err);
/** Returns the result column of that name, in any letter case, or -1. */
int rp_column_at(sqlite3_stmt *stmt, const char *name);

/** Loads the rows once. */
int rp_load_rows(struct rp_store *s, enum rp_rows rows, struct rp_err *err);
/** Hands over the rows in the order of the database and keeps nothing. */
int rp_each_row(struct rp_store *s, enum rp_rows rows, rp_store_row_fn *fn, void *ctx,
                struct rp_err *err);
/** Returns the row with that id in a set that is sorted by (guid_index, id), or NULL. */
const void *rp_find_row(const struct rp_store *s, enum rp_rows rows, uint32_t guid_index,
                        int64_t id);

/* A scan is one pass of SELECT over the relations of a table. Columns are found by name, so that
 * neither their order nor later additions matter. The callers join, on (guid, id), because some
 * databases lack the rows that rocpd's own views join with.
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
    int value_count; /**< of a row, as they are asked for */
    uint32_t guid;   /**< of all rows when there is no guid column, else of the last row */
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

/** Does the same as rp_table_scan_number() for a value of any type. */
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
