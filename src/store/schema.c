#include "store/schema.h"

#include "base/buf.h"
#include "base/err.h"
#include "store/sqlerr.h"

#include <string.h>

struct column {
    enum rp_table table;
    const char *name;
    const char *type;
    int refers_to; /**< enum rp_table or -1 */
};

static const struct column columns[] = {
#define TABLE(t)
#define COLUMN(t, c, ty) {.table = RP_TABLE_##t, .name = #c, .type = ty, .refers_to = -1},
#define REFER(t, c, ty, target)                                                                    \
    {.table = RP_TABLE_##t, .name = #c, .type = ty, .refers_to = RP_TABLE_##target},
#include "store/schema.def"
#undef TABLE
#undef COLUMN
#undef REFER
};

static const struct {
    const char *name;
    const char *select;
} views[] = {
#define VIEW(n, s) {.name = #n, .select = s},
#include "store/views.def"
#undef VIEW
};

static const char *const table_names[] = {
#define TABLE(t) [RP_TABLE_##t] = "rocpd_" #t,
#define COLUMN(t, c, type)
#define REFER(t, c, type, target)
#include "store/schema.def"
#undef TABLE
#undef COLUMN
#undef REFER
    [RP_TABLE_hip_event] = "rocpd_hip_event",
    [RP_TABLE_timestamp] = "rocpd_timestamp",
    [RP_TABLE_dependency] = "rocm_perf_dependency",
    [RP_TABLE_replay] = "rocm_perf_replay",
};

enum {
    COLUMN_COUNT = sizeof columns / sizeof columns[0],
    VIEW_COUNT = sizeof views / sizeof views[0],
};

const char *rp_table_name(enum rp_table table)
{
    return table_names[table];
}

void rp_schema_suffix(const char *guid, char ret[RP_GUID_BYTES])
{
    size_t i;

    for (i = 0; guid[i] && i < RP_GUID_BYTES - 1; i++)
        ret[i] = guid[i] == '-' ? '_' : guid[i];
    ret[i] = '\0';
}

static void add_table(struct rp_buf *sql, enum rp_table table, const char *guid, const char *suffix)
{
    const char *name = rp_table_name(table);

    rp_buf_printf(sql, "CREATE TABLE \"%s_%s\" (\"id\" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
                  name, suffix);
    if (table != RP_TABLE_metadata)
        rp_buf_printf(sql, ", \"guid\" TEXT DEFAULT '%s' NOT NULL", guid);
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        if (columns[i].table == table)
            rp_buf_printf(sql, ", \"%s\" %s", columns[i].name, columns[i].type);
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        if (columns[i].table == table && columns[i].refers_to >= 0)
            rp_buf_printf(
                sql, ", FOREIGN KEY (\"%s\") REFERENCES \"%s_%s\" (\"id\") ON UPDATE CASCADE",
                columns[i].name, rp_table_name((enum rp_table)columns[i].refers_to), suffix);
    rp_buf_puts(sql, ");\n");
}

/* docs/format/rocpd.md: which kernels and copies wait for which, what modelled times are from. */
int rp_schema_create_own(sqlite3 *db, enum rp_table table, const char *guid, struct rp_err *err)
{
    static const char *const own_columns[RP_TABLE_COUNT] = {
        [RP_TABLE_dependency] = "\"is_copy\" INTEGER NOT NULL, \"row_id\" INTEGER NOT NULL,"
                                " \"waits_for_copy\" INTEGER NOT NULL,"
                                " \"waits_for_id\" INTEGER NOT NULL",
        [RP_TABLE_replay] = "\"waves\" INTEGER NOT NULL, \"replayed_waves\" INTEGER NOT NULL,"
                            " \"error_share\" REAL NOT NULL, \"fast_clock_waves\" INTEGER",
    };
    const char *name = rp_table_name(table);
    rp_autobuf sql = {0};
    char suffix[RP_GUID_BYTES];

    rp_schema_suffix(guid, suffix);
    rp_buf_printf(&sql,
                  "CREATE TABLE \"%s_%s\" (\"id\" INTEGER NOT NULL PRIMARY KEY,"
                  " \"guid\" TEXT DEFAULT '%s' NOT NULL, %s);\n",
                  name, suffix, guid, own_columns[table]);
    rp_buf_printf(&sql, "CREATE VIEW \"%s\" AS SELECT * FROM \"%s_%s\";\n", name, name, suffix);
    if (sql.failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return rp_sql_exec(db, rp_buf_text(&sql), err);
}

int rp_schema_create(sqlite3 *db, const char *guid, struct rp_err *err)
{
    rp_autobuf sql = {0};
    char suffix[RP_GUID_BYTES];

    rp_schema_suffix(guid, suffix);
    for (int t = 0; t < RP_TABLE_WRITTEN_COUNT; t++)
        add_table(&sql, (enum rp_table)t, guid, suffix);
    for (int t = 0; t < RP_TABLE_WRITTEN_COUNT; t++)
        rp_buf_printf(&sql, "CREATE VIEW \"%s\" AS SELECT * FROM \"%s_%s\";\n",
                      rp_table_name((enum rp_table)t), rp_table_name((enum rp_table)t), suffix);
    for (size_t v = 0; v < VIEW_COUNT; v++)
        rp_buf_printf(&sql, "CREATE VIEW \"%s\" AS %s;\n", views[v].name, views[v].select);
    if (sql.failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return rp_sql_exec(db, rp_buf_text(&sql), err);
}
