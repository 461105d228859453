/* The file of a history: what it is, who may write, adding to it and removing from it. */
#include "rocm-perf/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/err.h"
#include "store/history.h"
#include "store/sqlerr.h"

/* "rphi": says that a file is ours, in the header that SQLite has for it. */
enum { APPLICATION = 0x72706869, WAIT_MS = 120000 };

static const char tables[] =
    "CREATE TABLE result(id INTEGER PRIMARY KEY AUTOINCREMENT, hash TEXT NOT NULL UNIQUE, added "
    "TEXT NOT NULL,"
    " commit_id TEXT, config TEXT NOT NULL, program TEXT NOT NULL, device TEXT NOT NULL,"
    " software INTEGER NOT NULL, wall INTEGER NOT NULL, complete INTEGER NOT NULL,"
    " rocm_version TEXT, tracer TEXT);"
    "CREATE TABLE times(result INTEGER NOT NULL REFERENCES result(id), position INTEGER NOT NULL,"
    " kernel TEXT, runtime_internal INTEGER NOT NULL, launches INTEGER NOT NULL,"
    " runs_ms TEXT NOT NULL, PRIMARY KEY(result, position)) WITHOUT ROWID;"
    "PRAGMA application_id = 1919969385;"
    "PRAGMA user_version = 1;";
_Static_assert(APPLICATION == 1919969385 && RP_HISTORY_VERSION == 1, "as the statements say");

/* --- opening ------------------------------------------------------------------------------- */

static int number(sqlite3 *db, const char *sql, int64_t *ret, struct rp_err *err)
{
    rp_autostmt *stmt = NULL;
    int result = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_step(stmt);
    if (result != SQLITE_ROW)
        return rp_sql_fail(db, result, err);
    *ret = sqlite3_column_int64(stmt, 0);
    return 0;
}

static int check(sqlite3 *db, bool write, struct rp_err *err)
{
    int64_t application, version, count;

    if (number(db, "PRAGMA application_id", &application, err) < 0 ||
        number(db, "PRAGMA user_version", &version, err) < 0 ||
        number(db, "SELECT count(*) FROM sqlite_schema", &count, err) < 0)
        return -(int)err->code;
    if (application == 0 && version == 0 && count == 0)
        return write ? rp_sql_exec(db, tables, err) : 0;
    if (application != APPLICATION)
        return rp_fail(err, RP_BAD_INPUT, "it is no history of rocm-perf: name another file");
    if (version > RP_HISTORY_VERSION)
        return rp_fail(err, RP_BAD_INPUT,
                       "a later rocm-perf has written it (version %lld, this one knows %d): use "
                       "that one",
                       (long long)version, RP_HISTORY_VERSION);
    return version == RP_HISTORY_VERSION ? 0
                                         : rp_fail(err, RP_BAD_INPUT, "the database is damaged");
}

int rp_history_open(const char *path, bool write, sqlite3 **ret, struct rp_err *err)
{
    const int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (write ? SQLITE_OPEN_CREATE : 0);
    int result = sqlite3_open_v2(path, ret, flags, NULL);
    struct rp_err mine = RP_ERR_INIT;
    int rc;

    if (!err)
        err = &mine;
    if (result != SQLITE_OK)
        return rp_sql_fail(*ret, result, err);
    sqlite3_extended_result_codes(*ret, 1);
    sqlite3_busy_timeout(*ret, WAIT_MS);
    /* Whoever writes takes the lock first: two that read, then write, would wait for each other. */
    rc = rp_sql_exec(*ret, write ? "BEGIN IMMEDIATE" : "BEGIN", err);
    return rc < 0 ? rc : check(*ret, write, err);
}

/* --- adding -------------------------------------------------------------------------------- */

static int prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct rp_err *err)
{
    int result = sqlite3_prepare_v2(db, sql, -1, ret, NULL);

    return result == SQLITE_OK ? 0 : rp_sql_fail(db, result, err);
}

static int step(sqlite3 *db, sqlite3_stmt *stmt, struct rp_err *err)
{
    int result = sqlite3_step(stmt);

    sqlite3_reset(stmt);
    return result == SQLITE_DONE ? 0 : rp_sql_fail(db, result, err);
}

/* @return its number, 0: it is not there, below 0: an error */
static int64_t find(sqlite3 *db, const char *hash, struct rp_err *err)
{
    rp_autostmt *stmt = NULL;
    int result;

    if (prepare(db, "SELECT id FROM result WHERE hash = ?1", &stmt, err) < 0)
        return -(int64_t)err->code;
    sqlite3_bind_text(stmt, 1, hash, -1, SQLITE_STATIC);
    result = sqlite3_step(stmt);
    if (result == SQLITE_ROW)
        return sqlite3_column_int64(stmt, 0);
    return result == SQLITE_DONE ? 0 : rp_sql_fail(db, result, err);
}

static int put_result(sqlite3 *db, const struct rp_history_result *r, struct rp_err *err)
{
    const char *const texts[] = {r->hash,    r->added,  r->commit,       r->config,
                                 r->program, r->device, r->rocm_version, r->tracer};
    rp_autostmt *stmt = NULL;

    if (prepare(db,
                "INSERT INTO result(hash, added, commit_id, config, program, device, rocm_version,"
                " tracer, software, wall, complete) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)",
                &stmt, err) < 0)
        return -(int)err->code;
    for (int i = 0; i < 8; i++)
        sqlite3_bind_text(stmt, i + 1, texts[i], -1, SQLITE_STATIC);
    sqlite3_bind_int(stmt, 9, r->software);
    sqlite3_bind_int(stmt, 10, r->wall);
    sqlite3_bind_int(stmt, 11, r->complete);
    return step(db, stmt, err);
}

/* As JSON, which reads back as the same numbers. */
static char *runs_text(const struct rp_history_times *times)
{
    json_t *array = json_array();
    char *text = NULL;
    bool ok = array;

    for (size_t i = 0; ok && i < times->run_count; i++)
        ok = json_array_append_new(array, json_real(times->runs_ms[i])) == 0;
    if (ok)
        text = json_dumps(array, JSON_REAL_PRECISION(17));
    json_decref(array);
    return text;
}

static int put_times(sqlite3 *db, int64_t id, const struct rp_history_result *r, struct rp_err *err)
{
    rp_autostmt *stmt = NULL;
    int rc = prepare(db,
                     "INSERT INTO times(result, position, kernel, runtime_internal, launches,"
                     " runs_ms) VALUES(?1,?2,?3,?4,?5,?6)",
                     &stmt, err);

    for (size_t i = 0; rc == 0 && i < r->times_count; i++) {
        const struct rp_history_times *times = &r->times[i];
        rp_autofree char *runs = runs_text(times);

        if (!runs)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        sqlite3_bind_int64(stmt, 1, id);
        sqlite3_bind_int64(stmt, 2, (int64_t)i);
        sqlite3_bind_text(stmt, 3, times->kernel, -1, SQLITE_STATIC);
        sqlite3_bind_int(stmt, 4, times->runtime_internal);
        sqlite3_bind_int64(stmt, 5, (int64_t)times->launches);
        sqlite3_bind_text(stmt, 6, runs, -1, SQLITE_STATIC);
        rc = step(db, stmt, err);
    }
    return rc;
}

static int add(sqlite3 *db, const struct rp_history_result *result, int64_t *ret_id, bool *ret_new,
               struct rp_err *err)
{
    int64_t id = find(db, result->hash, err);
    int rc;

    if (id < 0)
        return (int)id;
    *ret_new = id == 0;
    if (id == 0) {
        rc = put_result(db, result, err);
        id = sqlite3_last_insert_rowid(db);
        if (rc == 0)
            rc = put_times(db, id, result, err);
        if (rc < 0)
            return rc;
    }
    *ret_id = id;
    return rp_sql_exec(db, "COMMIT", err);
}

int rp_history_add(const char *path, const struct rp_history_result *result, int64_t *ret_id,
                   bool *ret_new, struct rp_err *err)
{
    struct rp_err mine = RP_ERR_INIT;
    sqlite3 *db = NULL;
    int rc;

    if (!err)
        err = &mine;
    rc = rp_history_open(path, true, &db, err);
    if (rc == 0)
        rc = add(db, result, ret_id, ret_new, err);
    sqlite3_close(db); /* takes back what was not committed */
    return rc < 0 ? rp_wrap(err, "history %s", path) : 0;
}

/* --- removing ------------------------------------------------------------------------------ */

static int remove_one(sqlite3 *db, int64_t id, struct rp_err *err)
{
    rp_autostmt *result = NULL, *times = NULL;
    int rc = prepare(db, "DELETE FROM result WHERE id = ?1", &result, err);

    if (rc == 0)
        rc = prepare(db, "DELETE FROM times WHERE result = ?1", &times, err);
    if (rc < 0)
        return rc;
    sqlite3_bind_int64(result, 1, id);
    sqlite3_bind_int64(times, 1, id);
    rc = step(db, result, err);
    if (rc == 0 && sqlite3_changes(db) == 0)
        return rp_fail(err, RP_USAGE, "there is no result %lld: `history list` has their numbers",
                       (long long)id);
    return rc < 0 ? rc : step(db, times, err);
}

int rp_history_remove(const char *path, const int64_t *ids, size_t count, struct rp_err *err)
{
    struct rp_err mine = RP_ERR_INIT;
    sqlite3 *db = NULL;
    int rc;

    if (!err)
        err = &mine;
    if (access(path, F_OK) != 0)
        return rp_fail_errno(err, RP_BAD_INPUT, errno, "history %s", path);
    rc = rp_history_open(path, true, &db, err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = remove_one(db, ids[i], err);
    if (rc == 0)
        rc = rp_sql_exec(db, "COMMIT", err);
    sqlite3_close(db); /* takes back what was not committed */
    return rc < 0 ? rp_wrap(err, "history %s", path) : 0;
}
