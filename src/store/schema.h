/**
 * @file schema.h
 * @brief The rocpd 3.0.0 schema as data: the writer creates it, the reader knows its names.
 */
#ifndef RP_STORE_SCHEMA_H
#define RP_STORE_SCHEMA_H

#include <sqlite3.h>

struct rp_err;

/** RP_TABLE_info_agent stands for rocpd_info_agent. */
enum rp_table {
#define TABLE(t) RP_TABLE_##t,
#define COLUMN(t, c, type)
#define REFER(t, c, type, target)
#include "store/schema.def"
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

#endif
