/**
 * @file reader.h
 * @brief What the parts of the reader share: relations.c finds tables, load.c reads rows,
 *        reader.c is the public face.
 */
#ifndef RP_STORE_READER_H
#define RP_STORE_READER_H

#include "rocm-perf/store.h"
#include "store/events.h"
#include "store/spec.h"
#include "store/text.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RP_MAX_GUIDS = 4096 }; /**< processes in one merged database */

/** Where the rows of a table are: the un-suffixed view or table, else the suffixed tables. */
struct rp_relations {
    char **names;
    size_t count;
    bool suffixed;
};

/** A row of rocpd_string, found by (guid, id). */
struct rp_keyed {
    int64_t id;
    const char *text;
    uint32_t guid_index;
};

struct rp_lookup {
    struct rp_keyed *rows; /**< sorted by guid_index, id */
    size_t count;
    bool loaded;
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
    struct rp_pass *pass;       /**< that runs now, or NULL */
    uint64_t steps_left;        /**< of the statement that runs now, in units of RP_STEP_OPS */
    struct rp_relations tables[RP_TABLE_COUNT];
    const char *schema;
    struct rp_text text;
    const char *guids[RP_MAX_GUIDS];
    uint32_t guid_count;
    struct rp_lookup strings;
    struct rp_events events;
    struct rp_rowset rows[RP_ROWS_COUNT];
    struct rp_rowset counters; /**< struct rp_row_counter */
    const char **metadata;     /**< tag, value, tag, value, ... */
    size_t metadata_count;     /**< pairs */
    struct rp_store_end *ends; /**< dispatches whose ends cannot be */
    size_t end_count;
    bool ends_known;
};

/* --- reader.c --- */

/** A store of a database in memory, which it takes; its one process is called @p path, cut. */
int rp_store_adopt(sqlite3 *db, const char *path, size_t path_len, uint64_t size_bytes,
                   struct rp_store **ret, struct rp_err *err);

/* --- relations.c --- */

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

/* --- load.c --- */

/** Loads the rows once. */
int rp_load_rows(struct rp_store *s, enum rp_rows rows, struct rp_err *err);
/** Hands over the rows in the order of the database; nothing is kept. */
int rp_each_row(struct rp_store *s, enum rp_rows rows, rp_store_row_fn *fn, void *ctx,
                struct rp_err *err);
int rp_load_metadata(struct rp_store *s, struct rp_err *err);
/** Row with that id in a set that is sorted by (guid_index, id), or NULL. */
const void *rp_find_row(const struct rp_store *s, enum rp_rows rows, uint32_t guid_index,
                        int64_t id);

/* --- kernel_names.c --- */

/** Display names of the store's own kernels: without the end that names the descriptor, and with
 * what tells those of one name apart. */
int rp_name_kernels(struct rp_store *s, struct rp_rowset *set, struct rp_err *err);

#endif
