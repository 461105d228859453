#include "trace/sqlite_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

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
    enum { OPS_A_ROW = 7, OPS_A_STEP = 70 }; /* five columns, the row, the next one */
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

int rp_probe_other(sqlite3 *db, struct rp_err *err)
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
