#include "trace/rocpd_schema.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "trace/rocpd.h"
#include "trace/rocpd_read.h"

struct probe {
    uint64_t size_bytes;
    bool wal;          /**< the header asks for a write-ahead log */
    bool wal_has_data; /**< and there is one with contents */
};

static bool files_are_limited(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* SQLite keeps the system's error of some statements; only the file knows that of a COMMIT. A
 * rollback hides it from both. A write that failed where file sizes are limited is then reported
 * as beyond the limit, because a full disk has a code of its own.
 */
static int system_error(sqlite3 *db, int result)
{
    int sys = db ? sqlite3_system_errno(db) : 0;

    if (db && !sys)
        sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &sys);
    if (!sys && result == SQLITE_IOERR_WRITE && files_are_limited())
        sys = EFBIG;
    return sys;
}

int rp_sql_fail(sqlite3 *db, int result, struct rp_err *err)
{
    int sys = system_error(db, result);

    if (result == SQLITE_IOERR_NOMEM)
        result = SQLITE_NOMEM;
    switch (result & 0xff) {
    case SQLITE_NOMEM:
        return rp_out_of_memory(err);
    case SQLITE_FULL:
        return rp_fail(err, RP_ENVIRONMENT, "no space left for the database");
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
        if (sys == EFBIG)
            return rp_fail_errno(err, RP_ENVIRONMENT, EFBIG, "file size limit reached");
        if (sys)
            return rp_fail_errno(err, RP_ENVIRONMENT, sys, "%s", sqlite3_errstr(result));
        return rp_fail(err, RP_ENVIRONMENT, "%s", sqlite3_errstr(result));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return rp_fail(err, RP_ENVIRONMENT, "in use by another program");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return rp_fail(err, RP_BAD_INPUT, "the database is damaged");
    default:
        return rp_fail(err, RP_BAD_INPUT, "%s", db ? sqlite3_errmsg(db) : sqlite3_errstr(result));
    }
}

int rp_sql_exec(sqlite3 *db, const char *sql, struct rp_err *err)
{
    int result = sqlite3_exec(db, sql, NULL, NULL, NULL);

    return result == SQLITE_OK ? 0 : rp_sql_fail(db, result, err);
}

/* The header is in the SQLite file format description, section 1.3; numbers are big endian. */
enum {
    HEADER_BYTES = 100,
    AT_PAGE_SIZE = 16,
    AT_READ_VERSION = 19,
    AT_CHANGES = 24,
    AT_PAGE_COUNT = 28,
    AT_VALID_FOR = 92,
    VERSION_WAL = 2,
    MOST_RELATIONS = 25000, /**< a process has 23 tables, a merged trace 40 views as well */
};

static const struct {
    const char *bytes;
    size_t len;
    const char *what;
} other_files[] = {
    {"\x1f\x8b", 2, "a gzip file"},
    {"\x28\xb5\x2f\xfd", 4, "a Zstandard file"},
    {"\x7f"
     "ELF",
     4, "an ELF file"},
    {"PK\x03\x04", 4, "a zip file"},
    {"{", 1, "JSON"},
    {"[", 1, "JSON"},
    {"\"", 1, "text, perhaps CSV"},
};

#define REMEDY "record a trace with rocm-perf profile or rocprofv3 --output-format rocpd"

static uint32_t be32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int not_sqlite(const unsigned char *head, size_t len, struct rp_err *err)
{
    for (size_t i = 0; i < sizeof other_files / sizeof other_files[0]; i++)
        if (len >= other_files[i].len &&
            memcmp(head, other_files[i].bytes, other_files[i].len) == 0)
            return rp_fail(err, RP_BAD_INPUT,
                           "it is not an SQLite database (it looks like %s); " REMEDY,
                           other_files[i].what);
    return rp_fail(err, RP_BAD_INPUT, "it is not an SQLite database; " REMEDY);
}

static bool log_has_data(const char *path)
{
    rp_autobuf name = {0};
    struct stat st;

    rp_buf_printf(&name, "%s-wal", path);
    return !name.failed && stat(name.data, &st) == 0 && st.st_size > 0;
}

static int check_header(const unsigned char *head, size_t len, struct probe *probe,
                        struct rp_err *err)
{
    uint32_t page_bytes;
    uint64_t whole_bytes;

    if (len < 16 || memcmp(head, "SQLite format 3", 16) != 0)
        return not_sqlite(head, len, err);
    if (len < HEADER_BYTES)
        return rp_fail(err, RP_BAD_INPUT, "it is truncated: %zu bytes, less than a header", len);
    page_bytes = (uint32_t)head[AT_PAGE_SIZE] << 8 | head[AT_PAGE_SIZE + 1];
    page_bytes = page_bytes == 1 ? 65536 : page_bytes;
    whole_bytes = (uint64_t)be32(head + AT_PAGE_COUNT) * page_bytes;
    probe->wal = head[AT_READ_VERSION] == VERSION_WAL;
    /* The page count counts only if the last writer kept it (the two counters agree); with data
     * in the log the file itself may still be short. */
    if (be32(head + AT_CHANGES) == be32(head + AT_VALID_FOR) && !probe->wal_has_data &&
        probe->size_bytes < whole_bytes)
        return rp_fail(err, RP_BAD_INPUT, "it is truncated: %" PRIu64 " of %" PRIu64 " bytes",
                       probe->size_bytes, whole_bytes);
    return 0;
}

static int look_at(const char *path, struct probe *ret, struct rp_err *err)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct probe probe = {0};
    unsigned char head[HEADER_BYTES];
    struct stat st;
    ssize_t len;
    int result;

    if (fd < 0 || fstat(fd, &st) < 0)
        return rp_fail_errno(err,
                             errno == ENOENT || errno == ENOTDIR ? RP_BAD_INPUT : RP_ENVIRONMENT,
                             errno, "cannot open it");
    if (S_ISDIR(st.st_mode))
        return rp_fail(err, RP_BAD_INPUT, "it is a directory");
    if (!S_ISREG(st.st_mode))
        return rp_fail(err, RP_BAD_INPUT, "it is not a regular file");
    if (st.st_size == 0)
        return rp_fail(err, RP_BAD_INPUT, "it is empty (0 bytes)");
    len = pread(fd, head, sizeof head, 0);
    if (len < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read it");
    probe.size_bytes = (uint64_t)st.st_size;
    probe.wal_has_data = log_has_data(path);
    result = check_header(head, (size_t)len, &probe, err);
    if (result == 0)
        *ret = probe;
    return result;
}

/* Adds a file: URI of a path, in which everything that is not plainly harmless is escaped. */
static void add_uri(struct rp_buf *uri, const char *path)
{
    rp_buf_puts(uri, path[0] == '/' ? "file://" : "file:./");
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("/._-", c);
        rp_buf_printf(uri, plain ? "%c" : "%%%02X", c);
    }
}

static void confine(sqlite3 *db, const struct probe *probe)
{
    uint64_t longest = probe->size_bytes + 4096;

    /* The database is input: nothing in its schema may act, and no value is longer than the file.
     */
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, longest < INT_MAX ? (int)longest : INT_MAX);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_busy_timeout(db, 2000);
}

static int spend_step(void *left)
{
    unsigned *steps = left;

    return *steps == 0 || --*steps == 0;
}

int rp_probe_schema(sqlite3 *db, unsigned most)
{
    /* A row needs steps for five columns, the row and the next one. */
    enum { OPS_A_ROW = 7, OPS_A_STEP = 70 };
    unsigned steps = most / (OPS_A_STEP / OPS_A_ROW) + 2;
    int result;

    sqlite3_progress_handler(db, OPS_A_STEP, spend_step, &steps);
    result = sqlite3_exec(db, "SELECT 1 FROM sqlite_master LIMIT 1", NULL, NULL, NULL);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    return result;
}

static int open_as(const char *path, const struct probe *probe, sqlite3 **ret, struct rp_err *err)
{
    rp_autobuf name = {0};
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    sqlite3 *db = NULL;
    int result;

    add_uri(&name, path);
    /* Opening a database in WAL mode makes log files beside it, which a folder may not allow and a
     * reader should not do. Without a log the file is complete and can be read as it is. */
    if (probe->wal && !probe->wal_has_data)
        rp_buf_puts(&name, "?immutable=1");
    if (name.failed)
        return rp_out_of_memory(err);
    result = sqlite3_open_v2(name.data, &db, flags, NULL);
    if (result == SQLITE_OK) {
        sqlite3_extended_result_codes(db, 1);
        confine(db, probe);
        result = sqlite3_exec(db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
    }
    if (result == SQLITE_OK)
        result = rp_probe_schema(db, MOST_RELATIONS);
    if (result == SQLITE_OK) {
        *ret = db;
        return 0;
    }
    if (result == SQLITE_INTERRUPT)
        rp_fail(err, RP_BAD_INPUT,
                "it has more than %d tables and views, and the traces of a thousand processes"
                " merged into one have less: give the traces, not merged",
                MOST_RELATIONS);
    else if (probe->wal_has_data && (result & 0xff) != SQLITE_CORRUPT &&
             (result & 0xff) != SQLITE_NOTADB)
        rp_fail(err, RP_ENVIRONMENT,
                "its write-ahead log (%s-wal) cannot be used here (%s); copy both files to a "
                "writable folder",
                path, sqlite3_errstr(result));
    else if (result == SQLITE_READONLY_ROLLBACK)
        rp_fail(err, RP_BAD_INPUT, "its writer was interrupted: %s-journal must be rolled back",
                path);
    else
        rp_sql_fail(db, result, err);
    sqlite3_close(db);
    return rp_wrap(err, "cannot read it");
}

int rp_probe_open(const char *path, sqlite3 **ret, uint64_t *ret_bytes, struct rp_err *err)
{
    struct probe probe;
    int result = look_at(path, &probe, err);

    if (result == 0)
        result = open_as(path, &probe, ret, err);
    if (result == 0)
        *ret_bytes = probe.size_bytes;
    return result;
}

static const struct {
    const char *pattern; /* of a table name, LIKE with \ as escape */
    const char *what;
} other_databases[] = {
    {"compute\\_%", "an analysis database of rocprof-compute"},
    {"rocpd\\_kernelapi", "an RPD trace (rocpd 2), an older format of the same suffix"},
    {"rocpd\\_api", "an RPD trace (rocpd 2), an older format of the same suffix"},
    {"rocpd\\_op", "an RPD trace (rocpd 2), an older format of the same suffix"},
    {"CUPTI\\_ACTIVITY\\_%", "a trace of Nsight Systems"},
};

/** Fails, saying what an SQLite database without rocpd tables seems to be. */
static int probe_other(sqlite3 *db, struct rp_err *err)
{
    static const char sql[] = "SELECT count(*) FROM sqlite_master"
                              " WHERE type IN ('table', 'view') AND name LIKE ?1 ESCAPE '\\'";
    rp_autostmt *stmt = NULL;
    int result = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

    if (result != SQLITE_OK)
        return rp_sql_fail(db, result, err);
    for (size_t i = 0; i < sizeof other_databases / sizeof other_databases[0]; i++) {
        sqlite3_bind_text(stmt, 1, other_databases[i].pattern, -1, SQLITE_STATIC);
        if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int(stmt, 0) > 0)
            return rp_fail(err, RP_BAD_INPUT, "it is not a rocpd trace but %s; " REMEDY,
                           other_databases[i].what);
        sqlite3_reset(stmt);
    }
    sqlite3_bind_text(stmt, 1, "%", -1, SQLITE_STATIC);
    if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int(stmt, 0) > 0)
        return rp_fail(err, RP_BAD_INPUT,
                       "it is an SQLite database, but without rocpd tables; " REMEDY);
    return rp_fail(err, RP_BAD_INPUT, "it is an SQLite database without tables; " REMEDY);
}

struct column {
    enum rp_table table;
    const char *name;
    const char *type;
    int refers_to; /**< enum rp_table or -1 */
};

static const struct column schema_columns[] = {
#define TABLE(t)
#define COLUMN(t, c, ty) {.table = RP_TABLE_##t, .name = #c, .type = ty, .refers_to = -1},
#define REFER(t, c, ty, target)                                                                    \
    {.table = RP_TABLE_##t, .name = #c, .type = ty, .refers_to = RP_TABLE_##target},
#include "trace/rocpd_schema.def"
#undef TABLE
#undef COLUMN
#undef REFER
};

static const struct {
    const char *name;
    const char *select;
} views[] = {
#define VIEW(n, s) {.name = #n, .select = s},
#include "trace/rocpd_views.def"
#undef VIEW
};

static const char *const table_names[] = {
#define TABLE(t) [RP_TABLE_##t] = "rocpd_" #t,
#define COLUMN(t, c, type)
#define REFER(t, c, type, target)
#include "trace/rocpd_schema.def"
#undef TABLE
#undef COLUMN
#undef REFER
    [RP_TABLE_hip_event] = "rocpd_hip_event",       [RP_TABLE_timestamp] = "rocpd_timestamp",
    [RP_TABLE_dependency] = "rocm_perf_dependency", [RP_TABLE_replay] = "rocm_perf_replay",
    [RP_TABLE_collective] = "rocm_perf_collective", [RP_TABLE_pc_sampling] = "rocpd_pc_sampling",
};

enum {
    COLUMN_COUNT = sizeof schema_columns / sizeof schema_columns[0],
    VIEW_COUNT = sizeof views / sizeof views[0],
};

const char *rp_table_name(enum rp_table table)
{
    return table_names[table];
}

static void add_table(struct rp_buf *sql, enum rp_table table, const char *guid, const char *suffix)
{
    const char *name = rp_table_name(table);

    rp_buf_printf(sql, "CREATE TABLE \"%s_%s\" (\"id\" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
                  name, suffix);
    if (table != RP_TABLE_metadata)
        rp_buf_printf(sql, ", \"guid\" TEXT DEFAULT '%s' NOT NULL", guid);
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        if (schema_columns[i].table == table)
            rp_buf_printf(sql, ", \"%s\" %s", schema_columns[i].name, schema_columns[i].type);
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        if (schema_columns[i].table == table && schema_columns[i].refers_to >= 0)
            rp_buf_printf(sql,
                          ", FOREIGN KEY (\"%s\") REFERENCES \"%s_%s\" (\"id\") ON UPDATE CASCADE",
                          schema_columns[i].name,
                          rp_table_name((enum rp_table)schema_columns[i].refers_to), suffix);
    rp_buf_puts(sql, ");\n");
}

/* Creates our own tables (docs/formats.md), which say which kernels and copies wait for which and
 * where modelled times come from.
 */
int rp_schema_create_own(sqlite3 *db, enum rp_table table, const char *guid, struct rp_err *err)
{
    static const char *const own_columns[RP_TABLE_COUNT] = {
        [RP_TABLE_dependency] = "\"is_copy\" INTEGER NOT NULL, \"row_id\" INTEGER NOT NULL,"
                                " \"waits_for_copy\" INTEGER NOT NULL,"
                                " \"waits_for_id\" INTEGER NOT NULL",
        [RP_TABLE_replay] = "\"waves\" INTEGER NOT NULL, \"replayed_waves\" INTEGER NOT NULL,"
                            " \"error_share\" REAL NOT NULL, \"fast_clock_waves\" INTEGER,"
                            " \"shortest_ns\" INTEGER, \"longest_ns\" INTEGER",
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
        return rp_out_of_memory(err);
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
        return rp_out_of_memory(err);
    return rp_sql_exec(db, rp_buf_text(&sql), err);
}

#define AT(row, field) .offset = offsetof(struct rp_row_##row, field)
#define NEEDED         .required = true
#define TO(t)          .refers_to = RP_TABLE_##t
#define OWN                                                                                        \
    {.name = "nid", .kind = RP_KIND_NODE},                                                         \
    {                                                                                              \
        .name = "pid", .kind = RP_KIND_PROCESS                                                     \
    }

static const struct rp_column process_columns[] = {
    {.name = "id", .kind = RP_KIND_PROCESS},
    {.name = "nid", .kind = RP_KIND_NODE},
    {.name = "ppid", .kind = RP_KIND_INT, AT(process, ppid)},
    {.name = "pid", .kind = RP_KIND_INT, AT(process, pid), NEEDED},
    {.name = "init", .kind = RP_KIND_TIME, AT(process, init_ns)},
    {.name = "fini", .kind = RP_KIND_TIME, AT(process, fini_ns)},
    {.name = "start", .kind = RP_KIND_TIME, AT(process, start_ns)},
    {.name = "end", .kind = RP_KIND_TIME, AT(process, end_ns)},
    {.name = "command", .kind = RP_KIND_TEXT, AT(process, command)},
    {.name = "environment", .kind = RP_KIND_JSON, AT(process, environment)},
    {.name = "extdata", .kind = RP_KIND_JSON, AT(process, extdata)},
};

static const struct rp_column thread_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(thread, tid), NEEDED},
    OWN,
    {.name = "ppid", .kind = RP_KIND_PARENT},
    {.name = "tid", .kind = RP_KIND_INT, AT(thread, tid), NEEDED},
    {.name = "name", .kind = RP_KIND_TEXT, AT(thread, name)},
};

static const struct rp_column agent_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(agent, id), NEEDED},
    OWN,
    {.name = "type", .kind = RP_KIND_TYPE, AT(agent, is_gpu), NEEDED},
    {.name = "absolute_index", .kind = RP_KIND_INT, AT(agent, absolute_index), NEEDED},
    {.name = "logical_index", .kind = RP_KIND_INT, AT(agent, logical_index), NEEDED},
    {.name = "type_index", .kind = RP_KIND_INT, AT(agent, type_index), NEEDED},
    {.name = "uuid", .kind = RP_KIND_INT, AT(agent, device_id)},
    {.name = "name", .kind = RP_KIND_TEXT, AT(agent, name), NEEDED},
    {.name = "model_name", .kind = RP_KIND_TEXT, AT(agent, model_name)},
    {.name = "vendor_name", .kind = RP_KIND_TEXT, AT(agent, vendor_name)},
    {.name = "product_name", .kind = RP_KIND_TEXT, AT(agent, product_name)},
    {.name = "user_name", .kind = RP_KIND_TEXT, AT(agent, user_name)},
    {.name = "extdata", .kind = RP_KIND_JSON, AT(agent, extdata)},
};

static const struct rp_column queue_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(queue, id), NEEDED},
    OWN,
    {.name = "name", .kind = RP_KIND_TEXT, AT(queue, name)},
    {.name = "extdata", .kind = RP_KIND_JSON, AT(queue, extdata)},
};

static const struct rp_column code_object_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(code_object, id), NEEDED},
    OWN,
    {.name = "agent_id", .kind = RP_KIND_REF, AT(code_object, agent_id), TO(info_agent)},
    {.name = "uri", .kind = RP_KIND_TEXT, AT(code_object, uri)},
    {.name = "load_base", .kind = RP_KIND_INT, AT(code_object, load_base)},
    {.name = "load_size", .kind = RP_KIND_INT, AT(code_object, load_size_bytes)},
    {.name = "load_delta", .kind = RP_KIND_INT, AT(code_object, load_delta)},
    {.name = "storage_type", .kind = RP_KIND_STORAGE, AT(code_object, storage_known)},
    {.name = "extdata", .kind = RP_KIND_JSON, AT(code_object, extdata)},
};

static const struct rp_column kernel_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(kernel, id), NEEDED},
    OWN,
    {.name = "code_object_id",
     .kind = RP_KIND_REF,
     AT(kernel, code_object_id),
     TO(info_code_object),
     NEEDED},
    {.name = "kernel_name", .kind = RP_KIND_TEXT, AT(kernel, kernel_name), NEEDED},
    {.name = "display_name", .kind = RP_KIND_TEXT, AT(kernel, display_name), NEEDED},
    {.name = "kernel_object", .kind = RP_KIND_INT, AT(kernel, kernel_object)},
    {.name = "kernarg_segment_size", .kind = RP_KIND_INT, AT(kernel, kernarg_bytes), NEEDED},
    {.name = "kernarg_segment_alignment",
     .kind = RP_KIND_INT,
     AT(kernel, kernarg_align_bytes),
     NEEDED},
    {.name = "group_segment_size", .kind = RP_KIND_INT, AT(kernel, group_bytes), NEEDED},
    {.name = "private_segment_size", .kind = RP_KIND_INT, AT(kernel, private_bytes), NEEDED},
    {.name = "sgpr_count", .kind = RP_KIND_INT, AT(kernel, sgpr_count), NEEDED},
    {.name = "arch_vgpr_count", .kind = RP_KIND_INT, AT(kernel, arch_vgpr_count), NEEDED},
    {.name = "accum_vgpr_count", .kind = RP_KIND_INT, AT(kernel, accum_vgpr_count), NEEDED},
    {.name = "extdata", .kind = RP_KIND_JSON, AT(kernel, extdata)},
};

static const struct rp_column dispatch_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(dispatch, id), NEEDED},
    OWN,
    {.name = "tid", .kind = RP_KIND_THREAD, AT(dispatch, tid), TO(info_thread)},
    {.name = "agent_id", .kind = RP_KIND_REF, AT(dispatch, agent_id), TO(info_agent), NEEDED},
    {.name = "kernel_id",
     .kind = RP_KIND_REF,
     AT(dispatch, kernel_id),
     TO(info_kernel_symbol),
     NEEDED},
    {.name = "dispatch_id", .kind = RP_KIND_INT, AT(dispatch, dispatch_id), NEEDED},
    {.name = "queue_id", .kind = RP_KIND_REF, AT(dispatch, queue_id), TO(info_queue), NEEDED},
    {.name = "stream_id", .kind = RP_KIND_REF, AT(dispatch, stream_id), TO(info_stream), NEEDED},
    {.name = "start", .kind = RP_KIND_INT, AT(dispatch, start_ns), NEEDED},
    {.name = "end", .kind = RP_KIND_INT, AT(dispatch, end_ns), NEEDED},
    {.name = "private_segment_size", .kind = RP_KIND_INT, AT(dispatch, private_bytes), NEEDED},
    {.name = "group_segment_size", .kind = RP_KIND_INT, AT(dispatch, group_bytes), NEEDED},
    {.name = "workgroup_size_x", .kind = RP_KIND_INT, AT(dispatch, workgroup[0]), NEEDED},
    {.name = "workgroup_size_y", .kind = RP_KIND_INT, AT(dispatch, workgroup[1]), NEEDED},
    {.name = "workgroup_size_z", .kind = RP_KIND_INT, AT(dispatch, workgroup[2]), NEEDED},
    {.name = "grid_size_x", .kind = RP_KIND_INT, AT(dispatch, grid[0]), NEEDED},
    {.name = "grid_size_y", .kind = RP_KIND_INT, AT(dispatch, grid[1]), NEEDED},
    {.name = "grid_size_z", .kind = RP_KIND_INT, AT(dispatch, grid[2]), NEEDED},
    {.name = "region_name_id", .kind = RP_KIND_NO_REGION},
    {.name = "event_id", .kind = RP_KIND_EVENT_BOTH, AT(dispatch, correlation_id)},
};

static const struct rp_column launch_columns[] = {
    {.name = "agent_id", .kind = RP_KIND_REF, AT(launch, agent_id), NEEDED},
    {.name = "kernel_id", .kind = RP_KIND_REF, AT(launch, kernel_id), NEEDED},
    {.name = "dispatch_id", .kind = RP_KIND_INT, AT(launch, dispatch_id), NEEDED},
    {.name = "queue_id", .kind = RP_KIND_REF, AT(launch, queue_id), NEEDED},
    {.name = "stream_id", .kind = RP_KIND_REF, AT(launch, stream_id), NEEDED},
    {.name = "start", .kind = RP_KIND_INT, AT(launch, start_ns), NEEDED},
    {.name = "end", .kind = RP_KIND_INT, AT(launch, end_ns), NEEDED},
    {.name = "event_id", .kind = RP_KIND_EVENT, AT(launch, correlation_id)},
};

static const struct rp_column work_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(dispatch, id), NEEDED},
    {.name = "agent_id", .kind = RP_KIND_REF, AT(dispatch, agent_id), NEEDED},
    {.name = "kernel_id", .kind = RP_KIND_REF, AT(dispatch, kernel_id), NEEDED},
    {.name = "start", .kind = RP_KIND_INT, AT(dispatch, start_ns), NEEDED},
    {.name = "end", .kind = RP_KIND_INT, AT(dispatch, end_ns), NEEDED},
    {.name = "private_segment_size", .kind = RP_KIND_INT, AT(dispatch, private_bytes), NEEDED},
    {.name = "group_segment_size", .kind = RP_KIND_INT, AT(dispatch, group_bytes), NEEDED},
    {.name = "workgroup_size_x", .kind = RP_KIND_INT, AT(dispatch, workgroup[0]), NEEDED},
    {.name = "workgroup_size_y", .kind = RP_KIND_INT, AT(dispatch, workgroup[1]), NEEDED},
    {.name = "workgroup_size_z", .kind = RP_KIND_INT, AT(dispatch, workgroup[2]), NEEDED},
    {.name = "grid_size_x", .kind = RP_KIND_INT, AT(dispatch, grid[0]), NEEDED},
    {.name = "grid_size_y", .kind = RP_KIND_INT, AT(dispatch, grid[1]), NEEDED},
    {.name = "grid_size_z", .kind = RP_KIND_INT, AT(dispatch, grid[2]), NEEDED},
};

static const struct rp_column copy_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(copy, id), NEEDED},
    OWN,
    {.name = "tid", .kind = RP_KIND_THREAD, AT(copy, tid), TO(info_thread)},
    {.name = "start", .kind = RP_KIND_INT, AT(copy, start_ns), NEEDED},
    {.name = "end", .kind = RP_KIND_INT, AT(copy, end_ns), NEEDED},
    {.name = "name_id", .kind = RP_KIND_STRING, AT(copy, name), NEEDED},
    {.name = "dst_agent_id", .kind = RP_KIND_REF, AT(copy, dst_agent_id), TO(info_agent), NEEDED},
    {.name = "dst_address", .kind = RP_KIND_INT, AT(copy, dst_address)},
    {.name = "src_agent_id", .kind = RP_KIND_REF, AT(copy, src_agent_id), TO(info_agent), NEEDED},
    {.name = "src_address", .kind = RP_KIND_INT, AT(copy, src_address)},
    {.name = "size", .kind = RP_KIND_INT, AT(copy, bytes), NEEDED},
    {.name = "queue_id", .kind = RP_KIND_REF, AT(copy, queue_id), TO(info_queue)},
    {.name = "stream_id", .kind = RP_KIND_REF, AT(copy, stream_id), TO(info_stream)},
    {.name = "event_id", .kind = RP_KIND_EVENT, AT(copy, correlation_id)},
};

static const struct rp_column region_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(region, id), NEEDED},
    OWN,
    {.name = "tid", .kind = RP_KIND_THREAD, AT(region, tid), TO(info_thread), NEEDED},
    {.name = "start", .kind = RP_KIND_INT, AT(region, start_ns), NEEDED},
    {.name = "end", .kind = RP_KIND_INT, AT(region, end_ns), NEEDED},
    {.name = "name_id", .kind = RP_KIND_STRING, AT(region, name), NEEDED},
    {.name = "event_id", .kind = RP_KIND_EVENT_ROW, AT(region, event_id), NEEDED},
};

static const struct rp_column arg_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(arg, id), NEEDED},
    {.name = "event_id", .kind = RP_KIND_INT, AT(arg, event_id), NEEDED},
    {.name = "position", .kind = RP_KIND_INT, AT(arg, position)},
    {.name = "type", .kind = RP_KIND_WRITTEN, AT(arg, type)},
    {.name = "name", .kind = RP_KIND_TEXT, AT(arg, name), NEEDED},
    {.name = "value", .kind = RP_KIND_TEXT, AT(arg, value), NEEDED},
};

static const struct rp_column arg_value_columns[] = {
    {.name = "event_id", .kind = RP_KIND_INT, AT(arg, event_id), NEEDED},
    {.name = "name", .kind = RP_KIND_TEXT, AT(arg, name), NEEDED},
    {.name = "value", .kind = RP_KIND_TEXT, AT(arg, value), NEEDED},
};

static const struct rp_column hip_event_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(hip_event, id), NEEDED},
    {.name = "queue_id", .kind = RP_KIND_INT, AT(hip_event, queue_id), NEEDED},
    {.name = "stream_id", .kind = RP_KIND_INT, AT(hip_event, stream_id), NEEDED},
    {.name = "hip_event_handle", .kind = RP_KIND_INT, AT(hip_event, handle), NEEDED},
    {.name = "start", .kind = RP_KIND_INT, AT(hip_event, start_ns), NEEDED},
    {.name = "end", .kind = RP_KIND_INT, AT(hip_event, end_ns), NEEDED},
    {.name = "name_id", .kind = RP_KIND_STRING, AT(hip_event, name), NEEDED},
    {.name = "event_id", .kind = RP_KIND_EVENT, AT(hip_event, correlation_id), NEEDED},
};

static const struct rp_column dependency_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(dependency, id)},
    {.name = "is_copy", .kind = RP_KIND_INT, AT(dependency, is_copy), NEEDED},
    {.name = "row_id", .kind = RP_KIND_INT, AT(dependency, row_id), NEEDED},
    {.name = "waits_for_copy", .kind = RP_KIND_INT, AT(dependency, waits_for_copy), NEEDED},
    {.name = "waits_for_id", .kind = RP_KIND_INT, AT(dependency, waits_for_id), NEEDED},
};

static const struct rp_column simulation_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(simulation, id), NEEDED},
    {.name = "waves", .kind = RP_KIND_INT, AT(simulation, waves), NEEDED},
    {.name = "replayed_waves", .kind = RP_KIND_INT, AT(simulation, replayed_waves), NEEDED},
    {.name = "error_share", .kind = RP_KIND_REAL, AT(simulation, error_share), NEEDED},
    {.name = "fast_clock_waves", .kind = RP_KIND_KNOWN, AT(simulation, fast_clock_waves)},
    {.name = "shortest_ns", .kind = RP_KIND_KNOWN, AT(simulation, shortest_ns)},
    {.name = "longest_ns", .kind = RP_KIND_KNOWN, AT(simulation, longest_ns)},
};

static const struct rp_column collective_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(collective, id), NEEDED},
    {.name = "name_id", .kind = RP_KIND_STRING, AT(collective, name), NEEDED},
    {.name = "dtype_id", .kind = RP_KIND_STRING, AT(collective, dtype), NEEDED},
    {.name = "bytes", .kind = RP_KIND_KNOWN, AT(collective, bytes), NEEDED},
    {.name = "ranks", .kind = RP_KIND_KNOWN, AT(collective, ranks), NEEDED},
};

/* Builds of rocprofv3 that have the table differ in columns; samples, lanes, code_object_id and
 * code_object_offset are our own, of its CSV and JSON files (csv_trace.h). */
static const struct rp_column pc_sample_columns[] = {
    {.name = "method", .kind = RP_KIND_TEXT, AT(pc_sample, method)},
    {.name = "dispatch_id", .kind = RP_KIND_INT, AT(pc_sample, dispatch_id), NEEDED},
    {.name = "samples", .kind = RP_KIND_KNOWN, AT(pc_sample, samples)},
    {.name = "exec_mask", .kind = RP_KIND_INT, AT(pc_sample, exec_mask)},
    {.name = "lanes", .kind = RP_KIND_KNOWN, AT(pc_sample, lanes)},
    {.name = "instruction", .kind = RP_KIND_TEXT, AT(pc_sample, isa), NEEDED},
    {.name = "instruction_comment", .kind = RP_KIND_TEXT, AT(pc_sample, comment)},
    {.name = "code_object_id", .kind = RP_KIND_KNOWN, AT(pc_sample, code_object)},
    {.name = "code_object_offset", .kind = RP_KIND_KNOWN, AT(pc_sample, offset)},
    {.name = "wave_issued_instruction", .kind = RP_KIND_KNOWN, AT(pc_sample, issued)},
    {.name = "stall_reason", .kind = RP_KIND_TEXT, AT(pc_sample, stall_reason)},
};

static const struct rp_column pmc_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(pmc, id), NEEDED},
    {.name = "name", .kind = RP_KIND_TEXT, AT(pmc, name), NEEDED},
};

static const struct rp_column pmc_event_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(pmc_event, id)},
    {.name = "event_id", .kind = RP_KIND_REF, AT(pmc_event, event_id), NEEDED},
    {.name = "pmc_id", .kind = RP_KIND_REF, AT(pmc_event, pmc_id), NEEDED},
    {.name = "sample_id", .kind = RP_KIND_REF, AT(pmc_event, sample_id)},
    {.name = "value", .kind = RP_KIND_REAL, AT(pmc_event, value), NEEDED},
};

static const struct rp_column node_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(node, id), NEEDED},
    {.name = "machine_id", .kind = RP_KIND_TEXT, AT(node, machine_id)},
    {.name = "hostname", .kind = RP_KIND_TEXT, AT(node, hostname)},
};

static const struct rp_column note_columns[] = {
    {.name = "id", .kind = RP_KIND_ID, AT(note, event_id), NEEDED},
    {.name = "extdata", .kind = RP_KIND_JSON, AT(note, extdata)},
};

static const struct rp_column call_site_columns[] = {
    {.name = "stack_id", .kind = RP_KIND_INT, AT(call_site, correlation_id), NEEDED},
    {.name = "line_info", .kind = RP_KIND_JSON, AT(call_site, line_info)},
};

#define SPEC(rows, in_table, of_row, its_columns, ...)                                             \
    [RP_ROWS_##rows] = {.table = RP_TABLE_##in_table,                                              \
                        .columns = its_columns,                                                    \
                        .column_count = sizeof its_columns / sizeof its_columns[0],                \
                        .row_bytes = sizeof(struct rp_row_##of_row),                               \
                        .guid_offset = offsetof(struct rp_row_##of_row, guid_index),               \
                        __VA_ARGS__}
#define REQUIRED  .required = true
#define NUMBERED  .numbered = true
#define READ_ONLY .read_only = true

const struct rp_spec rp_specs[RP_ROWS_COUNT] = {
    SPEC(process, info_process, process, process_columns, .what = "process", REQUIRED),
    SPEC(thread, info_thread, thread, thread_columns, .what = "thread"),
    SPEC(agent, info_agent, agent, agent_columns, .what = "agent", REQUIRED),
    SPEC(queue, info_queue, queue, queue_columns, .what = "queue"),
    SPEC(stream, info_stream, queue, queue_columns, .what = "stream"),
    SPEC(code_object, info_code_object, code_object, code_object_columns, .what = "code object"),
    SPEC(kernel, info_kernel_symbol, kernel, kernel_columns, .what = "kernel", REQUIRED),
    SPEC(dispatch, kernel_dispatch, dispatch, dispatch_columns, .what = "dispatch",
         .category = "KERNEL_DISPATCH", REQUIRED, NUMBERED),
    SPEC(launch, kernel_dispatch, launch, launch_columns, .what = "dispatch",
         .category = "KERNEL_DISPATCH", REQUIRED, READ_ONLY),
    SPEC(work, kernel_dispatch, dispatch, work_columns, .what = "dispatch", REQUIRED, READ_ONLY),
    SPEC(copy, memory_copy, copy, copy_columns, .what = "copy", .category = "MEMORY_COPY",
         NUMBERED),
    SPEC(region, region, region, region_columns, .what = "region",
         .category = "HIP_RUNTIME_API_EXT"),
    SPEC(arg, arg, arg, arg_columns, .what = "argument", NUMBERED),
    SPEC(arg_value, arg, arg, arg_value_columns, .what = "argument", READ_ONLY),
    SPEC(hip_event, hip_event, hip_event, hip_event_columns, .what = "HIP event",
         .category = "HIP_EVENT", READ_ONLY),
    SPEC(dependency, dependency, dependency, dependency_columns, .what = "dependency", NUMBERED,
         READ_ONLY),
    SPEC(simulation, replay, simulation, simulation_columns, .what = "timing simulation",
         READ_ONLY),
    SPEC(collective, collective, collective, collective_columns, .what = "collective", READ_ONLY),
    SPEC(pc_sample, pc_sampling, pc_sample, pc_sample_columns, .what = "PC sample", READ_ONLY),
    SPEC(pmc, info_pmc, pmc, pmc_columns, .what = "counter", READ_ONLY),
    SPEC(pmc_event, pmc_event, pmc_event, pmc_event_columns, .what = "counter value", READ_ONLY),
    SPEC(node, info_node, node, node_columns, .what = "node", READ_ONLY),
    SPEC(note, event, note, note_columns, .what = "event", READ_ONLY),
    SPEC(call_site, event, call_site, call_site_columns, .what = "event", READ_ONLY),
};

/* rocprofv3's suffix is a UUID with underscores. Other hexadecimal suffixes of some length are
 * accepted too, but words are not, because rocpd_event_operation is a table of its own.
 */
static bool is_suffix(const char *text)
{
    size_t len = strspn(text, "0123456789abcdefABCDEF_");

    return len >= 16 && text[len] == '\0';
}

static int add_name(struct rp_relations *r, const char *name)
{
    char **grown = realloc(r->names, (r->count + 1) * sizeof *grown);

    if (!grown)
        return -1;
    r->names = grown;
    grown[r->count] = strdup(name);
    if (!grown[r->count])
        return -1;
    r->count++;
    return 0;
}

void rp_relations_free(struct rp_relations *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->names[i]);
    free(r->names);
    *r = (struct rp_relations){0};
}

int rp_relation_columns(sqlite3 *db, const char *relation, sqlite3_stmt **ret, struct rp_err *err)
{
    rp_autobuf sql = {0};
    int result;

    /* Names are rp_table_name with a suffix of digits and underscores: nothing to escape. */
    rp_buf_printf(&sql, "SELECT * FROM \"%s\" LIMIT 0", relation);
    if (sql.failed)
        return rp_out_of_memory(err);
    *ret = NULL;
    result = sqlite3_prepare_v2(db, sql.data, -1, ret, NULL);
    if (result == SQLITE_OK || (result & 0xff) == SQLITE_ERROR)
        return 0;
    return rp_sql_fail(db, result, err);
}

static int check_works(sqlite3 *db, const char *relation, bool *ret, struct rp_err *err)
{
    rp_autostmt *stmt = NULL;
    int result = rp_relation_columns(db, relation, &stmt, err);

    *ret = stmt != NULL;
    return result;
}

int rp_column_at(sqlite3_stmt *stmt, const char *name)
{
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        const char *column = sqlite3_column_name(stmt, i);
        if (column && strcasecmp(column, name) == 0)
            return i;
    }
    return -1;
}

static int check_column(struct rp_store *s, enum rp_table table, const char *column, bool *ret,
                        struct rp_err *err)
{
    const struct rp_relations *r = &s->tables[table];
    rp_autostmt *stmt = NULL;
    int result = r->count ? rp_relation_columns(s->db, r->names[0], &stmt, err) : 0;

    *ret = stmt && rp_column_at(stmt, column) >= 0;
    return result;
}

/* Sorts one name of the schema to its table: the un-suffixed one goes to plain. */
static int file_name(struct rp_store *s, const char *name, bool plain[RP_TABLE_COUNT])
{
    for (int t = 0; t < RP_TABLE_COUNT; t++) {
        const char *base = rp_table_name((enum rp_table)t);
        size_t len = strlen(base);
        if (strcasecmp(name, base) == 0) {
            plain[t] = true;
            return 0;
        }
        if (strncasecmp(name, base, len) == 0 && name[len] == '_' && is_suffix(name + len + 1))
            return add_name(&s->tables[t], name);
    }
    return 0;
}

static int list_names(struct rp_store *s, bool plain[RP_TABLE_COUNT], struct rp_err *err)
{
    rp_autostmt *stmt = NULL;
    int result = sqlite3_prepare_v2(s->db,
                                    "SELECT name FROM sqlite_master"
                                    " WHERE type IN ('table', 'view') ORDER BY name",
                                    -1, &stmt, NULL);

    while (result == SQLITE_OK && (result = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        if (!name || file_name(s, name, plain) < 0)
            return rp_out_of_memory(err);
        result = SQLITE_OK;
    }
    return result == SQLITE_DONE ? 0 : rp_sql_fail(s->db, result, err);
}

/* Prefers the un-suffixed name: in a merged database it is the union. */
static int choose(struct rp_store *s, enum rp_table table, bool plain, struct rp_err *err)
{
    struct rp_relations *r = &s->tables[table];
    const char *name = rp_table_name(table);
    int result = 0;

    r->suffixed = true;
    if (plain)
        result = check_works(s->db, name, &plain, err);
    if (result < 0 || !plain)
        return result;
    rp_relations_free(r);
    return add_name(r, name) < 0 ? rp_out_of_memory(err) : 0;
}

/* Detects the oldest version that has everything found. 3.0.1 only widened a check, so it cannot
 * be recognised; 3.0.4 added a table that is not in our list.
 */
static int detect(struct rp_store *s, struct rp_err *err)
{
    static const struct {
        const char *version;
        enum rp_table table;
        const char *column;
    } signs[] = {
        {"4 (draft)", RP_TABLE_kernel_dispatch, "track_id"},
        {"3.0.5", RP_TABLE_pmc_event, "shader_array"},
        {"3.0.4", RP_TABLE_COUNT, NULL},
        {"3.0.3", RP_TABLE_pmc_event, "sample_id"},
        {"3.0.3", RP_TABLE_info_pmc, "spm_support"},
        {"3.0.2", RP_TABLE_kernel_dispatch, "graph_exec_id"},
    };
    bool found = false;
    int result = 0;

    s->schema = "3.0.0";
    for (size_t i = 0; i < sizeof signs / sizeof signs[0] && !found && result == 0; i++) {
        if (signs[i].column)
            result = check_column(s, signs[i].table, signs[i].column, &found, err);
        else
            result = check_works(s->db, "rocpd_hip_event", &found, err);
        if (found)
            s->schema = signs[i].version;
    }
    return result;
}

static int require_tables(const struct rp_store *s, struct rp_err *err)
{
    if (s->tables[RP_TABLE_string].count == 0)
        return rp_fail(err, RP_BAD_INPUT, "table rocpd_string is missing");
    for (int r = 0; r < RP_ROWS_COUNT; r++)
        if (rp_specs[r].required && s->tables[rp_specs[r].table].count == 0)
            return rp_fail(err, RP_BAD_INPUT, "table %s is missing",
                           rp_table_name(rp_specs[r].table));
    return 0;
}

bool rp_relations_exist(sqlite3 *db)
{
    rp_autostmt *stmt = NULL;
    int result = sqlite3_prepare_v2(
        db, "SELECT name FROM sqlite_master WHERE name LIKE 'rocpd\\_info\\_%' ESCAPE '\\'", -1,
        &stmt, NULL);

    return result != SQLITE_OK || sqlite3_step(stmt) != SQLITE_DONE;
}

int rp_relations_find(struct rp_store *s, struct rp_err *err)
{
    bool plain[RP_TABLE_COUNT] = {false};
    bool found = false;
    int result = list_names(s, plain, err);

    for (int t = 0; t < RP_TABLE_COUNT && result == 0; t++) {
        result = choose(s, (enum rp_table)t, plain[t], err);
        /* RPD traces have a rocpd_string and a rocpd_metadata too. */
        if (t != RP_TABLE_metadata && t != RP_TABLE_string)
            found |= s->tables[t].count > 0;
    }
    if (result < 0)
        return result;
    if (!found)
        return probe_other(s->db, err);
    result = require_tables(s, err);
    return result < 0 ? result : detect(s, err);
}
