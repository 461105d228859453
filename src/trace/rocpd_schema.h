/**
 * @file rocpd_schema.h
 * @brief The rocpd 3.0.0 schema as data: the writer creates it, the reader knows its names.
 */
#ifndef RP_TRACE_ROCPD_SCHEMA_H
#define RP_TRACE_ROCPD_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;

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
    RP_TABLE_COUNT
};

enum { RP_GUID_BYTES = 37 }; /**< 8-4-4-4-12 hexadecimal digits and the terminator */

/** "rocpd_info_agent". */
const char *rp_table_name(enum rp_table table);

/**
 * Creates the suffixed tables, the un-suffixed views and the derived views.
 * @param guid  with dashes; names the tables with underscores
 */
int rp_schema_create(sqlite3 *db, const char *guid, struct rp_err *err);

/** Creates a table of the suite's own, RP_TABLE_dependency or RP_TABLE_replay, and its view. */
int rp_schema_create_own(sqlite3 *db, enum rp_table table, const char *guid, struct rp_err *err);

/** Writes @p guid with every '-' as '_' into @p ret. */
void rp_schema_suffix(const char *guid, char ret[RP_GUID_BYTES]);

/* How the fields of the row structs of rocpd.h lie in the columns of rocpd's tables.
 *
 * The writer binds by these tables and the reader loads by them, so the two cannot disagree.
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

/** Rows that the store knows, in the order in which a reader may load them. */
enum rp_rows {
    RP_ROWS_process,
    RP_ROWS_thread,
    RP_ROWS_agent,
    RP_ROWS_queue,
    RP_ROWS_stream,
    RP_ROWS_code_object,
    RP_ROWS_kernel,
    RP_ROWS_dispatch,
    RP_ROWS_launch, /**< the same table: less of every row */
    RP_ROWS_work,   /**< likewise, of the rows of dispatches */
    RP_ROWS_copy,
    RP_ROWS_region,
    RP_ROWS_arg,
    RP_ROWS_arg_value, /**< the same table: less of every row */
    RP_ROWS_hip_event,
    RP_ROWS_dependency,
    RP_ROWS_replay,
    RP_ROWS_pmc,
    RP_ROWS_pmc_event,
    RP_ROWS_node,
    RP_ROWS_note,
    RP_ROWS_COUNT
};

/** A counter that was collected. */
struct rp_row_pmc {
    int64_t id;
    const char *name; /**< "SQ_WAVES" */
    uint32_t guid_index;
};

/** What one instance of the hardware counted. */
struct rp_row_pmc_event {
    int64_t id;
    int64_t event_id, pmc_id; /**< of the dispatch, of the counter; -1 = none */
    int64_t sample_id; /**< -1 = the whole dispatch, else one of its samples (SPM, schema 3.0.3) */
    double value;
    uint32_t guid_index;
};

extern const struct rp_spec rp_specs[RP_ROWS_COUNT];

#endif
