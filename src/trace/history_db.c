/* This file adds, removes and reads results, each in one transaction of the database that the name
 * of a history says. */
#include "trace/history_db.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "trace/history_store.h"
#include "trace/postgres.h"

static const struct rp_history_database *database_of(const char *name)
{
    return rp_pg_is_address(name) ? &rp_history_postgres : &rp_history_sqlite;
}

bool rp_history_is_file(const char *name)
{
    return !rp_pg_is_address(name);
}

char *rp_history_shown_name(const char *name)
{
    return rp_history_is_file(name) ? strdup(name) : rp_pg_shown_address(name);
}

int rp_history_check_path(const char *name, struct rp_err *err)
{
    return database_of(name)->check_name(name, err);
}

/* A message names the history, and no password of it. */
static int name_it(const char *name, struct rp_err *err)
{
    rp_autofree char *shown = rp_history_shown_name(name);

    return rp_wrap(err, "history %s", shown ? shown : "");
}

int rp_history_fail_missing(struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT,
                   "there is none yet: `rocm-perf history add RESULT` begins one");
}

/* A history while something is done with it. */
struct session {
    const char *name;
    const struct rp_history_database *of;
    struct rp_history_store *store;
    struct rp_err mine, *err;
    bool tried; /**< to open it: messages up to then have its name already */
};

static int begin(struct session *s, const char *name, enum rp_history_access access,
                 struct rp_err *err)
{
    int rc;

    *s = (struct session){.name = name, .of = database_of(name), .mine = RP_ERR_INIT};
    s->err = err ? err : &s->mine;
    rc = s->of->check_name(name, s->err);
    s->tried = rc == 0;
    return rc < 0 ? rc : s->of->open(name, access, &s->store, s->err);
}

static int end(struct session *s, int rc)
{
    s->of->close(s->store);
    return rc < 0 && s->tried ? name_it(s->name, s->err) : rc;
}

/* --- adding and removing ------------------------------------------------------------------- */

static int add(const struct rp_history_database *of, struct rp_history_store *store,
               const struct rp_history_result *result, int64_t *ret_id, bool *ret_new,
               struct rp_err *err)
{
    int64_t id = 0;
    int rc = of->find(store, result->hash, &id, err);

    *ret_new = id == 0;
    if (rc == 0 && id == 0)
        rc = of->put(store, result, &id, err);
    *ret_id = id;
    return rc < 0 ? rc : of->commit(store, err);
}

int rp_history_add(const char *name, const struct rp_history_result *result, int64_t *ret_id,
                   bool *ret_new, struct rp_err *err)
{
    struct session s;
    int rc = begin(&s, name, RP_HISTORY_MAKE, err);

    if (rc == 0)
        rc = add(s.of, s.store, result, ret_id, ret_new, s.err);
    return end(&s, rc);
}

static int remove_all(const struct rp_history_database *of, struct rp_history_store *store,
                      const int64_t *ids, size_t count, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < count; i++) {
        bool was = false;

        rc = of->remove(store, ids[i], &was, err);
        if (rc == 0 && !was)
            rc = rp_fail(err, RP_USAGE, "there is no result %lld: `history list` has their numbers",
                         (long long)ids[i]);
    }
    return rc < 0 ? rc : of->commit(store, err);
}

int rp_history_remove(const char *name, const int64_t *ids, size_t count, struct rp_err *err)
{
    struct session s;
    int rc = begin(&s, name, RP_HISTORY_CHANGE, err);

    if (rc == 0)
        rc = remove_all(s.of, s.store, ids, count, s.err);
    return end(&s, rc);
}

/* --- reading ------------------------------------------------------------------------------- */

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

int rp_history_read(const char *name, struct rp_history *ret, struct rp_err *err)
{
    struct rp_history history = {0};
    struct session s;
    int rc = begin(&s, name, RP_HISTORY_READ, err);

    if (rc == 0)
        rc = s.of->read(s.store, &history, s.err);
    rc = end(&s, rc);
    if (rc < 0)
        rp_history_free(&history);
    else
        *ret = history;
    return rc;
}

/* --- the times of runs --------------------------------------------------------------------- */

char *rp_history_runs_text(const struct rp_history_times *times)
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

int rp_history_read_runs(const char *text, struct rp_history_times *ret, struct rp_err *err)
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
        return rp_out_of_memory(err);
    return ok ? 0 : rp_fail(err, RP_BAD_INPUT, "runs_ms of a row of times is no list of times");
}
