/* This file keeps a history in a database of PostgreSQL, in a schema of its own. Anybody with the
 * right to may have put a trigger or a view there, which would run with the rights of whoever adds
 * a result.
 */
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "trace/history_store.h"
#include "trace/postgres.h"
#include "trace/records.h"

struct rp_history_store {
    struct rp_pg *pg;
};

enum {
    MOST_ADDED_BYTES = 256 << 20, /**< of one result, as with SQLite */
    MOST_RESULTS = 1000000,
    MOST_TIMES = 20000000,
    MOST_NAME_BYTES = 60, /**< of a name of theirs in a message */
};
static const int64_t MOST_ID = 9007199254740992; /* of JSON */

#define SCHEMA "rocm_perf_history"
#define RESULT SCHEMA ".result"
#define TIMES  SCHEMA ".times"
#define MARK   "rocm-perf history, version "

/* --- tables -------------------------------------------------------------------------------- */

/* The names in later statements are looked up in pg_catalog alone, so that nobody can put a
 * function of the same name before them. The times end what waits for others, or goes on when this
 * machine is gone. */
static const char begin_read[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
                                 "SET LOCAL search_path = pg_catalog;"
                                 "SET LOCAL statement_timeout = '150s';"
                                 "SET LOCAL lock_timeout = '120s'";
static const char begin_write[] = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
                                  "SET LOCAL search_path = pg_catalog;"
                                  "SET LOCAL statement_timeout = '150s';"
                                  "SET LOCAL lock_timeout = '120s';"
                                  "SET LOCAL idle_in_transaction_session_timeout = '60s'";
/* One writer at a time, as with a file: numbers are in the order of adding then. */
static const char wait_for_writers[] = "SELECT pg_advisory_xact_lock(1919969385, 1)";
static const char which_there[] =
    "SELECT to_regclass('" RESULT "') IS NOT NULL, to_regclass('" TIMES "') IS NOT NULL";

static const char tables[] =
    "CREATE SCHEMA IF NOT EXISTS " SCHEMA ";"
    "CREATE TABLE " RESULT "(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    " hash text NOT NULL UNIQUE, added text NOT NULL, commit_id text, config text NOT NULL,"
    " program text NOT NULL, device text NOT NULL, software boolean NOT NULL,"
    " wall boolean NOT NULL, complete boolean NOT NULL, rocm_version text, tracer text);"
    "CREATE TABLE " TIMES "(result bigint NOT NULL REFERENCES " RESULT "(id),"
    " \"position\" integer NOT NULL, kernel text, runtime_internal boolean NOT NULL,"
    " launches bigint NOT NULL, runs_ms text NOT NULL, PRIMARY KEY(result, \"position\"));"
    "COMMENT ON TABLE " RESULT " IS '" MARK "1'";
_Static_assert(RP_HISTORY_VERSION == 1, "as the statement says");

/* Here ! is NOT NULL, "a" marks an identity, "s" a generated column, = a default, and ~ another
 * order of texts than the database's. */
static const struct {
    const char *name, *columns;
} known_tables[] = {
    {"result", "r: id bigint!a, hash text!, added text!, commit_id text, config text!, program "
               "text!, device text!, software boolean!, wall boolean!, complete boolean!, "
               "rocm_version text, tracer text"},
    {"times", "r: result bigint!, position integer!, kernel text, runtime_internal boolean!, "
              "launches bigint!, runs_ms text!"},
};

static const char which_columns[] =
    "SELECT concat(c.relkind, ': ', (SELECT string_agg(concat(a.attname, ' ',"
    " format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN '!' END, a.attidentity,"
    " a.attgenerated, CASE WHEN a.atthasdef THEN '=' END,"
    " CASE WHEN a.attcollation NOT IN (0, 100) THEN '~' END), ', ' ORDER BY a.attnum)"
    " FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)),"
    " obj_description(c.oid, 'pg_class')"
    " FROM pg_class c WHERE c.oid = ('" SCHEMA ".' || $1)::regclass";

#define OURS "('" RESULT "'::regclass, '" TIMES "'::regclass)"
/* What would run, or give rows of other tables. */
static const char what_else[] =
    "SELECT what, name FROM ("
    "SELECT 'trigger' AS what, tgname::text AS name FROM pg_trigger WHERE NOT tgisinternal AND"
    " tgrelid IN " OURS " UNION ALL "
    "SELECT 'rule', rulename::text FROM pg_rewrite WHERE ev_class IN " OURS " UNION ALL "
    "SELECT 'policy', polname::text FROM pg_policy WHERE polrelid IN " OURS " UNION ALL "
    "SELECT 'constraint', conname::text FROM pg_constraint WHERE contype NOT IN"
    " ('p', 'u', 'f', 'n') AND conrelid IN " OURS " UNION ALL "
    "SELECT 'index', c.relname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE"
    " (indexprs IS NOT NULL OR indpred IS NOT NULL) AND indrelid IN " OURS " UNION ALL "
    "SELECT 'inherited table', c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid ="
    " i.inhrelid WHERE inhparent IN " OURS " OR inhrelid IN " OURS ") AS e LIMIT 1";

/* A name of theirs, of which nothing reaches a terminal but plain letters. */
static void plain(const char *text, char ret[MOST_NAME_BYTES + 1])
{
    size_t len = 0;

    for (; text && text[len] && len < MOST_NAME_BYTES; len++)
        ret[len] = text[len] >= ' ' && text[len] <= '~' ? text[len] : '?';
    ret[len] = '\0';
}

/** What the answer to one of these questions was. */
struct found {
    bool result, times, any;
    const char *columns;
};

static int take_there(void *context, const struct rp_pg_row *row, struct rp_err *err)
{
    struct found *found = context;

    if (rp_pg_bool(row, 0, &found->result) && rp_pg_bool(row, 1, &found->times))
        return 0;
    return rp_fail(err, RP_BAD_INPUT, "what the server sends is no answer: is it PostgreSQL?");
}

static int take_columns(void *context, const struct rp_pg_row *row, struct rp_err *err)
{
    struct found *found = context;
    const bool is_result = found->columns == known_tables[0].columns;
    const char *columns = rp_pg_text(row, 0), *mark = rp_pg_text(row, 1);
    const size_t mark_bytes = sizeof MARK - 1;
    long version;

    found->any = true;
    version =
        mark && strncmp(mark, MARK, mark_bytes) == 0 ? strtol(mark + mark_bytes, NULL, 10) : 0;
    if (is_result && version > RP_HISTORY_VERSION)
        return rp_fail(err, RP_BAD_INPUT,
                       "a later rocm-perf has written it (version %ld, this one knows %d): use "
                       "that one",
                       version, RP_HISTORY_VERSION);
    if (is_result && version != RP_HISTORY_VERSION)
        return rp_fail(err, RP_BAD_INPUT,
                       "table " RESULT " is no history of rocm-perf: name another database");
    if (columns && strcmp(columns, found->columns) == 0)
        return 0;
    return rp_fail(err, RP_BAD_INPUT,
                   "table " SCHEMA ".%s is not the one that rocm-perf makes: name another "
                   "database with --db",
                   known_tables[!is_result].name);
}

static int take_else(void *context, const struct rp_pg_row *row, struct rp_err *err)
{
    char what[MOST_NAME_BYTES + 1], name[MOST_NAME_BYTES + 1];

    (void)context;
    plain(rp_pg_text(row, 0), what);
    plain(rp_pg_text(row, 1), name);
    return rp_fail(err, RP_BAD_INPUT,
                   "its tables have the %s '%s', and no rocm-perf makes one: remove it, or name "
                   "another database with --db",
                   what, name);
}

/* The lock keeps the tables as they were looked at until the end. */
static int check_tables(struct rp_history_store *store, bool write, struct rp_err *err)
{
    const char *lock = write ? "LOCK TABLE " RESULT ", " TIMES " IN ROW EXCLUSIVE MODE"
                             : "LOCK TABLE " RESULT ", " TIMES " IN ACCESS SHARE MODE";
    int rc = rp_pg_run_all(store->pg, lock, err);

    for (size_t i = 0; rc == 0 && i < sizeof known_tables / sizeof *known_tables; i++) {
        struct found found = {.columns = known_tables[i].columns};

        rc = rp_pg_run(store->pg, which_columns, 1, &known_tables[i].name, take_columns, &found,
                       err);
        if (rc == 0 && !found.any)
            rc = rp_fail(err, RP_BAD_INPUT, "table " SCHEMA ".%s is gone", known_tables[i].name);
    }
    return rc < 0 ? rc : rp_pg_run(store->pg, what_else, 0, NULL, take_else, NULL, err);
}

static int begin(struct rp_history_store *store, enum rp_history_access access, struct rp_err *err)
{
    const bool write = access != RP_HISTORY_READ;
    struct found found = {0};
    int rc = rp_pg_run_all(store->pg, write ? begin_write : begin_read, err);

    if (rc == 0 && write)
        rc = rp_pg_run(store->pg, wait_for_writers, 0, NULL, NULL, NULL, err);
    if (rc == 0)
        rc = rp_pg_run(store->pg, which_there, 0, NULL, take_there, &found, err);
    if (rc < 0)
        return rc;
    if (!found.result && !found.times)
        return access == RP_HISTORY_MAKE ? rp_pg_run_all(store->pg, tables, err)
                                         : rp_history_fail_missing(err);
    if (!found.result || !found.times)
        return rp_fail(err, RP_BAD_INPUT,
                       "table " SCHEMA ".%s is gone: the history is damaged; name another database "
                       "with --db",
                       found.result ? "times" : "result");
    return check_tables(store, write, err);
}

static int open_store(const char *name, enum rp_history_access access,
                      struct rp_history_store **ret, struct rp_err *err)
{
    struct rp_history_store *store = calloc(1, sizeof *store);
    int rc = store ? rp_pg_connect(name, &store->pg, err) : rp_out_of_memory(err);

    *ret = store;
    return rc < 0 ? rc : begin(store, access, err);
}

static void close_store(struct rp_history_store *store)
{
    if (store)
        rp_pg_close(store->pg);
    free(store);
}

static int commit(struct rp_history_store *store, struct rp_err *err)
{
    if (rp_pg_run_all(store->pg, "COMMIT", err) == 0)
        return 0;
    return rp_wrap(err, "whether it was kept is not known; do it again, which adds nothing twice");
}

/* --- adding and removing ------------------------------------------------------------------- */

static int wrong_numbers(struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT,
                   "the database is damaged: results do not have the numbers that belong to them; "
                   "name another database with --db");
}

static int take_id(void *context, const struct rp_pg_row *row, struct rp_err *err)
{
    return rp_pg_number(row, 0, 1, MOST_ID, context) ? 0 : wrong_numbers(err);
}

static int find(struct rp_history_store *store, const char *hash, int64_t *ret_id,
                struct rp_err *err)
{
    *ret_id = 0;
    return rp_pg_run(store->pg, "SELECT id FROM " RESULT " WHERE hash = $1", 1, &hash, take_id,
                     ret_id, err);
}

/* PostgreSQL keeps characters, where a file of SQLite keeps any bytes. */
static char *characters(const char *text)
{
    rp_autobuf fixed = {0};

    rp_utf8_fix(&fixed, text, strlen(text));
    return fixed.len ? rp_buf_steal(&fixed) : fixed.failed ? NULL : strdup("");
}

enum { TEXTS = 8, VALUES = 11 };

static int put_result(struct rp_history_store *store, const struct rp_history_result *r,
                      int64_t *ret_id, struct rp_err *err)
{
    const char *const texts[TEXTS] = {r->hash,    r->added,  r->commit,       r->config,
                                      r->program, r->device, r->rocm_version, r->tracer};
    const bool bools[VALUES - TEXTS] = {r->software, r->wall, r->complete};
    const char *values[VALUES] = {NULL};
    char *fixed[TEXTS] = {NULL};
    int rc = 0;

    for (size_t i = 0; i < TEXTS; i++) {
        if (texts[i] && !(fixed[i] = characters(texts[i])))
            rc = rp_out_of_memory(err);
        values[i] = fixed[i];
    }
    for (size_t i = TEXTS; i < VALUES; i++)
        values[i] = bools[i - TEXTS] ? "t" : "f";
    *ret_id = 0;
    if (rc == 0)
        rc = rp_pg_run(store->pg,
                       "INSERT INTO " RESULT "(hash, added, commit_id, config, program, device,"
                       " rocm_version, tracer, software, wall, complete) VALUES($1, $2, $3, $4,"
                       " $5, $6, $7, $8, $9, $10, $11) RETURNING id",
                       VALUES, values, take_id, ret_id, err);
    for (size_t i = 0; i < TEXTS; i++)
        free(fixed[i]);
    return rc == 0 && !*ret_id ? rp_fail(err, RP_BAD_INPUT, "the server has not added it") : rc;
}

/* @return false: memory has ended */
static bool add_times(json_t *array, const struct rp_history_times *times, size_t position)
{
    rp_autofree char *runs = rp_history_runs_text(times);
    rp_autofree char *kernel = times->kernel ? characters(times->kernel) : NULL;
    const uint64_t launches = times->launches < INT64_MAX ? times->launches : INT64_MAX;

    if (!runs || (times->kernel && !kernel))
        return false;
    return json_array_append_new(
               array, json_pack("{sI sn sb sI ss}", "position", (json_int_t)position, "kernel",
                                "runtime_internal", times->runtime_internal, "launches",
                                (json_int_t)launches, "runs_ms", runs)) == 0 &&
           (!kernel || json_object_set_new(json_array_get(array, position), "kernel",
                                           json_string(kernel)) == 0);
}

static char *times_text(const struct rp_history_result *r)
{
    json_t *array = json_array();
    char *text = NULL;
    bool ok = array;

    for (size_t i = 0; ok && i < r->times_count; i++)
        ok = add_times(array, &r->times[i], i);
    if (ok)
        text = json_dumps(array, JSON_COMPACT);
    json_decref(array);
    return text;
}

/* All rows go in one statement, because a server may be far away. */
static int put(struct rp_history_store *store, const struct rp_history_result *result,
               int64_t *ret_id, struct rp_err *err)
{
    rp_autofree char *times = times_text(result);
    char id[24];
    const char *const values[] = {id, times};
    int rc;

    if (!times)
        return rp_out_of_memory(err);
    if (strlen(times) > MOST_ADDED_BYTES)
        return rp_fail(err, RP_BAD_INPUT, "the times of the result take more than %d MiB",
                       MOST_ADDED_BYTES >> 20);
    rc = put_result(store, result, ret_id, err);
    snprintf(id, sizeof id, "%lld", (long long)*ret_id);
    return rc < 0 ? rc
                  : rp_pg_run(store->pg,
                              "INSERT INTO " TIMES " SELECT $1::bigint, t.\"position\", t.kernel,"
                              " t.runtime_internal, t.launches, t.runs_ms FROM"
                              " json_to_recordset($2::json) AS t(\"position\" integer, kernel text,"
                              " runtime_internal boolean, launches bigint, runs_ms text)",
                              2, values, NULL, NULL, err);
}

static int remove_one(struct rp_history_store *store, int64_t id, bool *ret_was, struct rp_err *err)
{
    char text[24];
    const char *const values[] = {text};
    int64_t removed = 0;
    int rc;

    snprintf(text, sizeof text, "%lld", (long long)id);
    rc =
        rp_pg_run(store->pg, "DELETE FROM " TIMES " WHERE result = $1", 1, values, NULL, NULL, err);
    if (rc == 0)
        rc = rp_pg_run(store->pg, "DELETE FROM " RESULT " WHERE id = $1 RETURNING id", 1, values,
                       take_id, &removed, err);
    *ret_was = removed == id;
    return rc;
}

/* --- reading ------------------------------------------------------------------------------- */

struct reading {
    struct rp_history *history;
    size_t at; /**< the result whose times are read: both come in the same order */
    size_t times_count;
};

static int wrong_row(const char *table, struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT,
                   "a row of " SCHEMA ".%s is none of a history: name another database with --db",
                   table);
}

/** The columns of a result, in the order of the statement. */
static int fill_result(const struct rp_pg_row *row, struct rp_history_result *r, struct rp_err *err)
{
    enum { FIRST_TEXT = 2, FIRST_BOOL = 9, NEEDED = 4 };
    char **const texts[] = {&r->added,  &r->config,       &r->program, &r->device,
                            &r->commit, &r->rocm_version, &r->tracer};
    bool *const bools[] = {&r->software, &r->wall, &r->complete};
    const char *hash = rp_pg_text(row, 1);

    if (!rp_pg_number(row, 0, 1, MOST_ID, &r->id))
        return wrong_numbers(err);
    if (!hash || strlen(hash) >= sizeof r->hash)
        return wrong_row("result", err);
    strcpy(r->hash, hash);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = rp_pg_text(row, FIRST_TEXT + (int)i);

        if (!text && i < NEEDED)
            return wrong_row("result", err);
        *texts[i] = text ? strdup(text) : NULL;
        if (text && !*texts[i])
            return rp_out_of_memory(err);
    }
    for (size_t i = 0; i < sizeof bools / sizeof *bools; i++)
        if (!rp_pg_bool(row, FIRST_BOOL + (int)i, bools[i]))
            return wrong_row("result", err);
    return 0;
}

static int take_result(void *context, const struct rp_pg_row *row, struct rp_err *err)
{
    struct rp_history *history = ((struct reading *)context)->history;
    struct rp_history_result *r;

    if (history->count >= MOST_RESULTS)
        return rp_fail(err, RP_BAD_INPUT, "it has more than %d results", MOST_RESULTS);
    r = rp_array_add(&history->results, &history->count);
    if (!r)
        return rp_out_of_memory(err);
    *r = (struct rp_history_result){0};
    return fill_result(row, r, err);
}

static int take_times(void *context, const struct rp_pg_row *row, struct rp_err *err)
{
    struct reading *reading = context;
    const struct rp_history *history = reading->history;
    const char *kernel = rp_pg_text(row, 1);
    struct rp_history_result *r;
    struct rp_history_times *times;
    int64_t id, launches;
    bool internal;

    if (++reading->times_count > MOST_TIMES)
        return rp_fail(err, RP_BAD_INPUT, "its results have more than %d times", MOST_TIMES);
    if (!rp_pg_number(row, 0, 1, MOST_ID, &id) || !rp_pg_bool(row, 2, &internal) ||
        !rp_pg_number(row, 3, INT64_MIN, INT64_MAX, &launches))
        return wrong_row("times", err);
    while (reading->at < history->count && history->results[reading->at].id != id)
        reading->at++;
    if (reading->at == history->count)
        return wrong_row("times", err);
    r = &history->results[reading->at];
    times = rp_array_add(&r->times, &r->times_count);
    if (!times)
        return rp_out_of_memory(err);
    *times = (struct rp_history_times){.runtime_internal = internal,
                                       .launches = launches > 0 ? (uint64_t)launches : 0};
    times->kernel = kernel ? strdup(kernel) : NULL;
    if (kernel && !times->kernel)
        return rp_out_of_memory(err);
    return rp_history_read_runs(rp_pg_text(row, 4), times, err);
}

static int read_all(struct rp_history_store *store, struct rp_history *ret, struct rp_err *err)
{
    struct reading reading = {.history = ret};
    int rc = rp_pg_run(store->pg,
                       "SELECT id, hash, added, config, program,"
                       /* Series go on though their model of time has another name now. */
                       " replace(device, ', " RP_TIMING_COUNTS_WAS " timing ', ', counts timing '),"
                       " commit_id, rocm_version, tracer, software, wall, complete FROM " RESULT
                       " ORDER BY added COLLATE \"C\", id",
                       0, NULL, take_result, &reading, err);

    if (rc < 0)
        return rc;
    return rp_pg_run(store->pg,
                     "SELECT r.id, t.kernel, t.runtime_internal, t.launches, t.runs_ms FROM " RESULT
                     " r JOIN " TIMES
                     " t ON t.result = r.id ORDER BY r.added COLLATE \"C\", r.id, t.\"position\"",
                     0, NULL, take_times, &reading, err);
}

const struct rp_history_database rp_history_postgres = {
    .check_name = rp_pg_check_address,
    .open = open_store,
    .find = find,
    .put = put,
    .remove = remove_one,
    .read = read_all,
    .commit = commit,
    .close = close_store,
};
