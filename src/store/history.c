/* Adding to a history and removing from it. */
#include "rocm-perf/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/err.h"
#include "store/history.h"
#include "store/sqlerr.h"

/* --- adding -------------------------------------------------------------------------------- */

static int prepare(struct rp_history_file *file, const char *sql, sqlite3_stmt **ret,
                   struct rp_err *err)
{
    int result = sqlite3_prepare_v2(file->db, sql, -1, ret, NULL);

    return result == SQLITE_OK ? 0 : rp_history_fail(file, result, err);
}

static int step(struct rp_history_file *file, sqlite3_stmt *stmt, struct rp_err *err)
{
    int result = sqlite3_step(stmt);

    sqlite3_reset(stmt);
    return result == SQLITE_DONE ? 0 : rp_history_fail(file, result, err);
}

/* @return its number, 0: it is not there, below 0: an error */
static int64_t find(struct rp_history_file *file, const char *hash, struct rp_err *err)
{
    rp_autostmt *stmt = NULL;
    int result;

    if (prepare(file, "SELECT id FROM result WHERE hash = ?1", &stmt, err) < 0)
        return -(int64_t)err->code;
    sqlite3_bind_text(stmt, 1, hash, -1, SQLITE_STATIC);
    result = sqlite3_step(stmt);
    if (result == SQLITE_ROW)
        return sqlite3_column_int64(stmt, 0);
    return result == SQLITE_DONE ? 0 : rp_history_fail(file, result, err);
}

static int put_result(struct rp_history_file *file, const struct rp_history_result *r,
                      struct rp_err *err)
{
    const char *const texts[] = {r->hash,    r->added,  r->commit,       r->config,
                                 r->program, r->device, r->rocm_version, r->tracer};
    rp_autostmt *stmt = NULL;

    if (prepare(file,
                "INSERT INTO result(hash, added, commit_id, config, program, device, rocm_version,"
                " tracer, software, wall, complete) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)",
                &stmt, err) < 0)
        return -(int)err->code;
    for (int i = 0; i < 8; i++)
        sqlite3_bind_text(stmt, i + 1, texts[i], -1, SQLITE_STATIC);
    sqlite3_bind_int(stmt, 9, r->software);
    sqlite3_bind_int(stmt, 10, r->wall);
    sqlite3_bind_int(stmt, 11, r->complete);
    return step(file, stmt, err);
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

static int put_times(struct rp_history_file *file, int64_t id, const struct rp_history_result *r,
                     struct rp_err *err)
{
    rp_autostmt *stmt = NULL;
    int rc = prepare(file,
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
        rc = step(file, stmt, err);
    }
    return rc;
}

static int add(struct rp_history_file *file, const struct rp_history_result *result,
               int64_t *ret_id, bool *ret_new, struct rp_err *err)
{
    int64_t id = find(file, result->hash, err);
    int rc;

    if (id < 0)
        return (int)id;
    *ret_new = id == 0;
    if (id == 0) {
        rc = put_result(file, result, err);
        id = sqlite3_last_insert_rowid(file->db);
        if (rc == 0)
            rc = put_times(file, id, result, err);
        if (rc < 0)
            return rc;
    }
    *ret_id = id;
    return rp_sql_exec(file->db, "COMMIT", err);
}

int rp_history_add(const char *path, const struct rp_history_result *result, int64_t *ret_id,
                   bool *ret_new, struct rp_err *err)
{
    struct rp_err mine = RP_ERR_INIT;
    struct rp_history_file file = {0};
    int rc;

    if (!err)
        err = &mine;
    if (rp_history_check_path(path, err) < 0)
        return -(int)err->code;
    rc = rp_history_open(path, true, &file, err);
    if (rc == 0)
        rc = add(&file, result, ret_id, ret_new, err);
    rp_history_close(&file);
    return rc < 0 ? rp_wrap(err, "history %s", path) : 0;
}

/* --- removing ------------------------------------------------------------------------------ */

static int remove_one(struct rp_history_file *file, int64_t id, struct rp_err *err)
{
    rp_autostmt *result = NULL, *times = NULL;
    int rc = prepare(file, "DELETE FROM result WHERE id = ?1", &result, err);

    if (rc == 0)
        rc = prepare(file, "DELETE FROM times WHERE result = ?1", &times, err);
    if (rc < 0)
        return rc;
    sqlite3_bind_int64(result, 1, id);
    sqlite3_bind_int64(times, 1, id);
    rc = step(file, result, err);
    if (rc == 0 && sqlite3_changes(file->db) == 0)
        return rp_fail(err, RP_USAGE, "there is no result %lld: `history list` has their numbers",
                       (long long)id);
    return rc < 0 ? rc : step(file, times, err);
}

int rp_history_remove(const char *path, const int64_t *ids, size_t count, struct rp_err *err)
{
    struct rp_err mine = RP_ERR_INIT;
    struct rp_history_file file = {0};
    int rc;

    if (!err)
        err = &mine;
    if (rp_history_check_path(path, err) < 0)
        return -(int)err->code;
    if (access(path, F_OK) != 0)
        return rp_fail_errno(err, RP_BAD_INPUT, errno, "history %s", path);
    rc = rp_history_open(path, true, &file, err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = remove_one(&file, ids[i], err);
    if (rc == 0)
        rc = rp_sql_exec(file.db, "COMMIT", err);
    rp_history_close(&file);
    return rc < 0 ? rp_wrap(err, "history %s", path) : 0;
}
