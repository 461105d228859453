/* All of a history in memory. The file may be damaged, or written by anyone. */
#include "rocm-perf/history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/path.h"
#include "store/history.h"
#include "store/sqlerr.h"

void rp_history_result_free(struct rp_history_result *r)
{
    for (size_t i = 0; i < r->times_count; i++) {
        free(r->times[i].kernel);
        free(r->times[i].runs_ms);
    }
    free(r->times);
    free(r->added);
    free(r->commit);
    free(r->config);
    free(r->program);
    free(r->device);
    free(r->rocm_version);
    free(r->tracer);
    *r = (struct rp_history_result){0};
}

void rp_history_free(struct rp_history *history)
{
    for (size_t i = 0; i < history->count; i++)
        rp_history_result_free(&history->results[i]);
    free(history->results);
    *history = (struct rp_history){0};
}

/* @param needed  NULL is an empty text
 * @return false: no memory */
static bool text_at(sqlite3_stmt *stmt, int column, bool needed, char **ret)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);

    if (!text && (needed || sqlite3_column_type(stmt, column) != SQLITE_NULL))
        text = "";
    *ret = text ? strdup(text) : NULL;
    return !text || *ret;
}

static bool fill_result(sqlite3_stmt *stmt, struct rp_history_result *ret)
{
    char *hash = NULL;
    const bool ok = text_at(stmt, 1, true, &hash);

    ret->id = sqlite3_column_int64(stmt, 0);
    snprintf(ret->hash, sizeof ret->hash, "%s", hash ? hash : "");
    free(hash);
    ret->software = sqlite3_column_int(stmt, 9);
    ret->wall = sqlite3_column_int(stmt, 10);
    ret->complete = sqlite3_column_int(stmt, 11);
    return ok && text_at(stmt, 2, true, &ret->added) && text_at(stmt, 3, false, &ret->commit) &&
           text_at(stmt, 4, true, &ret->config) && text_at(stmt, 5, true, &ret->program) &&
           text_at(stmt, 6, true, &ret->device) && text_at(stmt, 7, false, &ret->rocm_version) &&
           text_at(stmt, 8, false, &ret->tracer);
}

/* The rows with room for one more, or NULL. It doubles: an allocator that moves an array each time
 * would copy all of it for each row. */
static void *with_room(void *rows, size_t count, size_t row_bytes)
{
    if (count & (count - 1)) /* there is some until the next power of two */
        return rows;
    return reallocarray(rows, count ? count * 2 : 1, row_bytes);
}

static int read_results(struct rp_history_file *file, struct rp_history *ret, struct rp_err *err)
{
    rp_autostmt *stmt = NULL;
    int result = sqlite3_prepare_v2(
        file->db,
        "SELECT id, hash, added, commit_id, config, program, device, rocm_version, tracer,"
        " software, wall, complete FROM result ORDER BY added, id",
        -1, &stmt, NULL);

    while (result == SQLITE_OK || result == SQLITE_ROW) {
        struct rp_history_result *grown;

        result = sqlite3_step(stmt);
        if (result != SQLITE_ROW)
            break;
        grown = with_room(ret->results, ret->count, sizeof *grown);
        if (!grown)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        ret->results = grown;
        grown[ret->count] = (struct rp_history_result){0};
        if (!fill_result(stmt, &grown[ret->count++]))
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    return result == SQLITE_DONE ? 0 : rp_history_fail(file, result, err);
}

static int read_runs(const char *text, struct rp_history_times *ret, struct rp_err *err)
{
    json_t *array = json_loads(text ? text : "", 0, NULL);
    const size_t count = json_array_size(array);
    bool ok = json_is_array(array);

    ret->runs_ms = calloc(count + 1, sizeof *ret->runs_ms);
    for (size_t i = 0; ret->runs_ms && ok && i < count; i++) {
        const double ms = json_number_value(json_array_get(array, i));

        ok = isfinite(ms) && ms > 0;
        ret->runs_ms[ret->run_count++] = ms;
    }
    json_decref(array);
    if (!ret->runs_ms)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return ok ? 0 : rp_fail(err, RP_BAD_INPUT, "runs_ms of a row of times is no list of times");
}

static int add_row(sqlite3_stmt *stmt, struct rp_history_result *to, struct rp_err *err)
{
    struct rp_history_times *grown = with_room(to->times, to->times_count, sizeof *grown), *row;
    const int64_t launches = sqlite3_column_int64(stmt, 2);

    if (!grown)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    to->times = grown;
    row = &grown[to->times_count++];
    *row = (struct rp_history_times){.runtime_internal = sqlite3_column_int(stmt, 1),
                                     .launches = launches > 0 ? (uint64_t)launches : 0};
    if (!text_at(stmt, 0, false, &row->kernel))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return read_runs((const char *)sqlite3_column_text(stmt, 3), row, err);
}

static int read_times(struct rp_history_file *file, struct rp_history *history, struct rp_err *err)
{
    rp_autostmt *stmt = NULL;
    int result = sqlite3_prepare_v2(file->db,
                                    "SELECT kernel, runtime_internal, launches, runs_ms FROM times"
                                    " WHERE result = ?1 ORDER BY position",
                                    -1, &stmt, NULL);

    if (result != SQLITE_OK)
        return rp_history_fail(file, result, err);
    for (size_t i = 0; i < history->count; i++) {
        sqlite3_bind_int64(stmt, 1, history->results[i].id);
        while ((result = sqlite3_step(stmt)) == SQLITE_ROW) {
            int rc = add_row(stmt, &history->results[i], err);

            if (rc < 0)
                return rc;
        }
        if (result != SQLITE_DONE)
            return rp_history_fail(file, result, err);
        sqlite3_reset(stmt);
    }
    return 0;
}

int rp_history_read(const char *path, struct rp_history *ret, struct rp_err *err)
{
    struct rp_history history = {0};
    struct rp_err mine = RP_ERR_INIT;
    struct rp_history_file file = {0};
    int rc;

    if (!err)
        err = &mine;
    if (rp_history_check_path(path, err) < 0)
        return -(int)err->code;
    if (!rp_path_exists(path))
        return rp_fail(err, RP_BAD_INPUT,
                       "there is no history '%s' yet: `rocm-perf history add RESULT` begins one",
                       path);
    rc = rp_history_open(path, false, &file, err);
    if (rc == 0 && !file.is_empty) {
        rc = read_results(&file, &history, err);
        if (rc == 0)
            rc = read_times(&file, &history, err);
    }
    rp_history_close(&file);
    if (rc < 0) {
        rp_history_free(&history);
        return rp_wrap(err, "history %s", path);
    }
    *ret = history;
    return 0;
}
