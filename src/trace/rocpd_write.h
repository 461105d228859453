/**
 * @file rocpd_write.h
 * @brief Which ids were written and which were only referred to.
 */
#ifndef RP_TRACE_ROCPD_WRITE_H
#define RP_TRACE_ROCPD_WRITE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "trace/rocpd_schema.h"

/** Zero-initialise; release with rp_idset_free. */
struct rp_idset {
    struct rp_idmap ids;
    bool *written; /**< per id */
    size_t room;
};

/* What the two halves of the writer share: rocpd_write.c owns the file, rocpd_write.c the rows. */

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
    struct rp_map names; /**< rocpd_string: the ids are the numbers, from 1 */
};

#endif
