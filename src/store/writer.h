/**
 * @file writer.h
 * @brief What the two halves of the writer share: writer.c owns the file, writer_rows.c the rows.
 */
#ifndef RP_STORE_WRITER_H
#define RP_STORE_WRITER_H

#include "base/buf.h"
#include "store/idset.h"
#include "store/names.h"
#include "store/spec.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum { RP_STORE_NODE_ID = 1 };

struct rp_store_writer {
    sqlite3 *db;
    char *path;      /**< where the database goes */
    char *temp_path; /**< where it is written; NULL when no file exists */
    char guid[RP_GUID_BYTES];
    bool spoilt; /**< SQLite failed: what the file holds is not known */
    bool process_known;
    int64_t pid, ppid; /**< of the process row */
    int64_t next_event;
    int64_t next_id[RP_ROWS_COUNT];
    sqlite3_stmt *insert[RP_ROWS_COUNT];
    sqlite3_stmt *insert_event, *insert_string, *insert_metadata, *insert_node, *check_json;
    sqlite3_stmt *insert_counter, *insert_counter_value; /**< NULL until they are needed */
    struct rp_idset ids[RP_TABLE_COUNT];
    struct rp_names names;
};

/** Prepares the statements for every kind of row. */
int rp_writer_prepare(struct rp_store_writer *w, struct rp_err *err);
/** Prepares "INSERT INTO table (columns) VALUES (?, ...)". */
int rp_writer_prepare_insert(struct rp_store_writer *w, enum rp_table table, const char *columns,
                             size_t count, sqlite3_stmt **ret, struct rp_err *err);
void rp_writer_finalize(struct rp_store_writer *w);

/** Runs a bound INSERT; @p what and @p id say of what in messages. */
int rp_writer_step(struct rp_store_writer *w, sqlite3_stmt *stmt, const char *what, int64_t id,
                   struct rp_err *err);
/** Binds text, made UTF-8; NULL is NULL. The text must last until the statement has run. */
int rp_writer_bind_text(struct rp_store_writer *w, sqlite3_stmt *stmt, int at, const char *text,
                        struct rp_err *err);

/** Adds the threads, queues and streams that rows refer to; fails for other missing rows. */
int rp_writer_complete(struct rp_store_writer *w, struct rp_err *err);

#endif
