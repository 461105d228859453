/**
 * @file spec.h
 * @brief How the fields of the row structs of store.h lie in the columns of rocpd's tables.
 *
 * The writer binds by these tables and the reader loads by them, so the two cannot disagree.
 */
#ifndef RP_STORE_SPEC_H
#define RP_STORE_SPEC_H

#include "store/schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Rows that only the store sees: rp_store_counters adds them up. */

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
