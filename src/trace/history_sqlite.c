/* This file keeps a history in a file of SQLite: it decides what such a file may contain, who may
 * read it, and how it is opened. Anybody may have made the file, and SQLite would execute what a
 * view, a trigger or an index on an expression says.
 */
#include "trace/history_store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "base/vec.h"
#include "trace/records.h"
#include "trace/rocpd_schema.h"
#include "trace/sqlite.h"

/**
 * A zeroed struct is closed. The connection points to the struct, so it must not move while it is
 * open.
 */
struct rp_history_file {
    sqlite3 *db;
    bool is_empty;       /**< it has no tables so far */
    bool out_of_steps;   /**< a statement was stopped: the file would keep us busy */
    uint64_t steps_left; /**< of the whole transaction, in units of some virtual machine steps */
};

/* "rphi" in SQLite's header says that a file is a history. */
enum { APPLICATION = 0x72706869, WAIT_MS = 120000 };

/* A transaction may take STEP_BASE units of STEP_OPS virtual machine steps, plus one for every
 * STEP_BYTES of the file. The check of all rows and reading them take some 30 steps for each row,
 * which has 20 bytes at the least. */
enum { STEP_OPS = 1000, STEP_BASE = 1000, STEP_BYTES = 64 };

enum {
    MOST_ADDED_BYTES =
        256 << 20,        /**< of a value that is added: a command line, the times of all runs */
    MOST_NAME_BYTES = 60, /**< of a name of theirs in a message */
    MOST_RELATIONS = 200, /**< ours are five: of some more the first is named */
};

/* --- the tables ---------------------------------------------------------------------------- */

#define RESULT_TABLE(id)                                                                           \
    "CREATE TABLE result(id " id ", hash TEXT NOT NULL UNIQUE, added TEXT NOT NULL,"               \
    " commit_id TEXT, config TEXT NOT NULL, program TEXT NOT NULL, device TEXT NOT NULL,"          \
    " software INTEGER NOT NULL, wall INTEGER NOT NULL, complete INTEGER NOT NULL,"                \
    " rocm_version TEXT, tracer TEXT)"
#define TIMES_TABLE                                                                                \
    "CREATE TABLE times(result INTEGER NOT NULL REFERENCES result(id), position INTEGER NOT NULL," \
    " kernel TEXT, runtime_internal INTEGER NOT NULL, launches INTEGER NOT NULL,"                  \
    " runs_ms TEXT NOT NULL, PRIMARY KEY(result, position)) WITHOUT ROWID"

static const char tables[] =
    RESULT_TABLE("INTEGER PRIMARY KEY AUTOINCREMENT") ";" TIMES_TABLE ";"
                                                      "PRAGMA application_id = 1919969385;"
                                                      "PRAGMA user_version = 1;";
_Static_assert(APPLICATION == 1919969385 && RP_HISTORY_VERSION == 1, "as the statements say");

/* These are all entries that the schema of a history ever had, with the statements as SQLite keeps
 * them. A name may have several, because the first histories reused the numbers of removed
 * results.
 */
static const struct known {
    const char *type, *name, *table, *sql;
    bool needed;
} known_objects[] = {
    {"table", "result", "result", RESULT_TABLE("INTEGER PRIMARY KEY AUTOINCREMENT"), true},
    {"table", "result", "result", RESULT_TABLE("INTEGER PRIMARY KEY"), true},
    {"index", "sqlite_autoindex_result_1", "result", NULL, true},
    {"table", "sqlite_sequence", "sqlite_sequence", "CREATE TABLE sqlite_sequence(name,seq)",
     false},
    {"table", "times", "times", TIMES_TABLE, true},
};
enum { KNOWN = sizeof known_objects / sizeof *known_objects };

/* --- the name ------------------------------------------------------------------------------ */

static int check_name(const char *path, struct rp_err *err)
{
    static const char scheme[] = "file:";
    struct stat st;

    if (!*path)
        return rp_fail(err, RP_USAGE,
                       "the history's name is empty: give the path of a file, or leave it out");
    if (strcmp(path, ":memory:") == 0 || strncmp(path, scheme, sizeof scheme - 1) == 0)
        return rp_fail(err, RP_USAGE,
                       "history %s: SQLite does not take it for a file's name: give the path of "
                       "a file (./%s is one of that name)",
                       path, path);
    if (rp_check_input(path, err) < 0)
        return -(int)err->code;
    if (path[strlen(path) - 1] == '/' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
        return rp_fail(err, RP_BAD_INPUT, "history %s is a folder: name a file in it", path);
    return 0;
}

/* The end of a rollback journal of a transaction over several databases: it names a further file,
 * which SQLite would read, and remove. */
static bool names_another_journal(const char *path)
{
    static const unsigned char magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    unsigned char end[sizeof magic];
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= (off_t)(2 * sizeof magic) &&
           pread(fd, end, sizeof end, st.st_size - (off_t)sizeof end) == (ssize_t)sizeof end &&
           memcmp(end, magic, sizeof magic) == 0;
}

/* SQLite also opens files beside it, and would wait for the writer of a pipe. */
static int check_neighbours(const char *path, struct rp_err *err)
{
    static const char *const endings[] = {"-journal", "-wal", "-shm"};

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        rp_autofree char *name = rp_format("%s%s", path, endings[i]);
        struct stat st;

        if (!name)
            return rp_out_of_memory(err);
        if (stat(name, &st) == 0 && !S_ISREG(st.st_mode))
            return rp_fail(err, RP_BAD_INPUT,
                           "%s, where SQLite keeps what is being written, is no file: remove it",
                           name);
        if (i == 0 && names_another_journal(name))
            return rp_fail(err, RP_BAD_INPUT,
                           "%s is of a transaction over several databases, which no rocm-perf "
                           "makes: settle it with sqlite3, or name another file with --db",
                           name);
    }
    return 0;
}

/* --- opening ------------------------------------------------------------------------------- */

/* A result is for others to read, and for nobody else to write. */
static int make_file(const char *path, struct rp_err *err)
{
    rp_autoclose int fd = -1;

    if (rp_path_exists(path))
        return 0;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, RP_MODE_HISTORY);
    return fd >= 0 ? 0 : rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot make it");
}

static int spend_step(void *context)
{
    struct rp_history_file *file = context;

    file->out_of_steps = file->steps_left == 0;
    file->steps_left -= !file->out_of_steps;
    return file->out_of_steps;
}

/** Describes why a statement failed. */
static int history_fail(struct rp_history_file *file, int result, struct rp_err *err)
{
    if (file->out_of_steps)
        return rp_fail(err, RP_BAD_INPUT,
                       "it takes more work than a history of its size can: name another file with "
                       "--db");
    return rp_sql_fail(file->db, result, err);
}

static uint64_t size_of(const char *path, const char *ending)
{
    rp_autofree char *name = rp_format("%s%s", path, ending);
    struct stat st;

    return name && stat(name, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Keeps anything in its schema from acting. */
static int confine(struct rp_history_file *file, uint64_t longest_bytes, struct rp_err *err)
{
    static const struct {
        int setting, value;
    } settings[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_DQS_DML, 0},        {SQLITE_DBCONFIG_DQS_DDL, 0},
    };
    sqlite3 *db = file->db;
    int rc;

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        sqlite3_db_config(db, settings[i].setting, settings[i].value, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, longest_bytes < INT_MAX ? (int)longest_bytes : INT_MAX);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_extended_result_codes(db, 1);
    sqlite3_busy_timeout(db, WAIT_MS);
    rc = rp_sql_exec(db, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", err);
    file->steps_left = STEP_BASE;
    file->out_of_steps = rc == 0 && rp_probe_schema(db, MOST_RELATIONS) == SQLITE_INTERRUPT;
    if (file->out_of_steps)
        return rp_fail(err, RP_BAD_INPUT,
                       "it has more than %d tables, and no rocm-perf makes them: name another file"
                       " with --db",
                       MOST_RELATIONS);
    sqlite3_progress_handler(db, STEP_OPS, spend_step, file);
    return rc;
}

/* --- what is in it ------------------------------------------------------------------------- */

static int number(struct rp_history_file *file, const char *sql, int64_t *ret, struct rp_err *err)
{
    rp_autostmt *stmt = NULL;
    int result = sqlite3_prepare_v2(file->db, sql, -1, &stmt, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_step(stmt);
    if (result != SQLITE_ROW)
        return history_fail(file, result, err);
    *ret = sqlite3_column_int64(stmt, 0);
    return 0;
}

static const char *text_at(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);

    return text ? text : "";
}

/* A name of theirs, of which nothing reaches a terminal but plain letters. */
static void plain(const char *text, char ret[MOST_NAME_BYTES + 1])
{
    size_t len = 0;

    for (; text[len] && len < MOST_NAME_BYTES; len++)
        ret[len] = text[len] >= ' ' && text[len] <= '~' ? text[len] : '?';
    ret[len] = '\0';
}

static const char *kind_of(const char *type, const char *sql)
{
    return strcmp(type, "view") == 0                            ? "view"
           : strcmp(type, "trigger") == 0                       ? "trigger"
           : strcmp(type, "index") == 0                         ? "index"
           : strncasecmp(sql, "CREATE VIRTUAL TABLE ", 21) == 0 ? "virtual table"
                                                                : "table";
}

static int refuse(sqlite3_stmt *stmt, struct rp_err *err)
{
    const char *type = text_at(stmt, 0), *kind = kind_of(type, text_at(stmt, 3));
    bool is_ours = false;
    char name[MOST_NAME_BYTES + 1];

    plain(text_at(stmt, 1), name);
    for (size_t i = 0; i < KNOWN; i++)
        is_ours |= strcmp(type, known_objects[i].type) == 0 &&
                   strcasecmp(name, known_objects[i].name) == 0;
    if (is_ours)
        return rp_fail(err, RP_BAD_INPUT,
                       "its %s %s is not the one that rocm-perf makes: name another file with --db",
                       kind, name);
    return rp_fail(
        err, RP_BAD_INPUT,
        "it has the %s '%s', and no rocm-perf makes one: remove it with sqlite3, or name "
        "another file with --db",
        kind, name);
}

/* @param found  which of known_objects are there */
static int take_object(sqlite3_stmt *stmt, bool *found, struct rp_err *err)
{
    for (size_t i = 0; i < KNOWN; i++) {
        const struct known *known = &known_objects[i];
        const bool has_sql = sqlite3_column_type(stmt, 3) != SQLITE_NULL;

        if (strcmp(text_at(stmt, 0), known->type) == 0 &&
            strcmp(text_at(stmt, 1), known->name) == 0 &&
            strcmp(text_at(stmt, 2), known->table) == 0 && has_sql == (known->sql != NULL) &&
            (!has_sql || strcmp(text_at(stmt, 3), known->sql) == 0) && !found[i]) {
            found[i] = true;
            return 0;
        }
    }
    return refuse(stmt, err);
}

static int check_complete(const bool *found, struct rp_err *err)
{
    for (size_t i = 0; i < KNOWN; i++) {
        bool has = false;

        for (size_t j = 0; j < KNOWN; j++)
            has |= found[j] && strcmp(known_objects[j].name, known_objects[i].name) == 0;
        if (known_objects[i].needed && !has)
            return rp_fail(err, RP_BAD_INPUT,
                           "its %s %s is gone: the history is damaged; name another file with --db",
                           known_objects[i].type, known_objects[i].name);
    }
    return 0;
}

/* The statements are compared whole: so there are no generated columns, no checks, no indices on
 * expressions and no defaults either. */
static int check_schema(struct rp_history_file *file, struct rp_err *err)
{
    rp_autostmt *stmt = NULL;
    bool found[KNOWN] = {false};
    int result = sqlite3_prepare_v2(file->db, "SELECT type, name, tbl_name, sql FROM sqlite_master",
                                    -1, &stmt, NULL);

    while (result == SQLITE_OK || result == SQLITE_ROW) {
        result = sqlite3_step(stmt);
        if (result == SQLITE_ROW && take_object(stmt, found, err) < 0)
            return -(int)err->code;
    }
    return result == SQLITE_DONE ? check_complete(found, err) : history_fail(file, result, err);
}

/* Checks that each page is used once, and that indices have what their tables have. A damaged tree
 * could give the same rows without end. A damaged index could report a result that does not exist
 * in place of the one to be added.
 */
static int check_pages(struct rp_history_file *file, struct rp_err *err)
{
    rp_autostmt *stmt = NULL;
    char said[2 * MOST_NAME_BYTES + 1] = "";
    int result = sqlite3_prepare_v2(file->db, "PRAGMA integrity_check(1)", -1, &stmt, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_step(stmt);
    if (result != SQLITE_ROW)
        return history_fail(file, result, err);
    if (strcmp(text_at(stmt, 0), "ok") == 0)
        return 0;
    for (size_t i = 0; i < sizeof said - 1 && text_at(stmt, 0)[i]; i++)
        said[i] =
            text_at(stmt, 0)[i] >= ' ' && text_at(stmt, 0)[i] <= '~' ? text_at(stmt, 0)[i] : ' ';
    return rp_fail(
        err, RP_BAD_INPUT,
        "the database is damaged (%s): `sqlite3 FILE .recover` prints what is left of it", said);
}

/* Numbers are counted on and printed as JSON; times of no result would become those of the next. */
static int check_numbers(struct rp_history_file *file, struct rp_err *err)
{
    static const char *const questions[] = {
        "SELECT count(*) FROM result WHERE id < 1 OR id > 9007199254740992",
        "SELECT count(*) FROM times WHERE result NOT IN (SELECT id FROM result)",
        "SELECT count(*) FROM sqlite_sequence WHERE name = 'result' AND (typeof(seq) <> 'integer'"
        " OR seq < 0 OR seq > 9007199254740992)"};
    const bool counts = sqlite3_table_column_metadata(file->db, NULL, "sqlite_sequence", "seq",
                                                      NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;

    for (size_t i = 0; i < (counts ? 3 : 2); i++) {
        int64_t found = 0;

        if (number(file, questions[i], &found, err) < 0)
            return -(int)err->code;
        if (found)
            return rp_fail(
                err, RP_BAD_INPUT,
                "the database is damaged: results and their times do not have the numbers "
                "that belong to them; name another file with --db");
    }
    return 0;
}

static int check_contents(struct rp_history_file *file, struct rp_err *err)
{
    int rc = check_schema(file, err);

    if (rc == 0)
        rc = check_pages(file, err);
    return rc < 0 ? rc : check_numbers(file, err);
}

static int check(struct rp_history_file *file, bool write, struct rp_err *err)
{
    int64_t application, version, count;

    if (number(file, "PRAGMA application_id", &application, err) < 0 ||
        number(file, "PRAGMA user_version", &version, err) < 0 ||
        number(file, "SELECT count(*) FROM sqlite_master", &count, err) < 0)
        return -(int)err->code;
    file->is_empty = application == 0 && version == 0 && count == 0;
    if (file->is_empty)
        return write ? rp_sql_exec(file->db, tables, err) : 0;
    if (application != APPLICATION)
        return rp_fail(err, RP_BAD_INPUT, "it is no history of rocm-perf: name another file");
    if (version > RP_HISTORY_VERSION)
        return rp_fail(err, RP_BAD_INPUT,
                       "a later rocm-perf has written it (version %lld, this one knows %d): use "
                       "that one",
                       (long long)version, RP_HISTORY_VERSION);
    return version == RP_HISTORY_VERSION ? check_contents(file, err)
                                         : rp_fail(err, RP_BAD_INPUT, "the database is damaged");
}

static int begin(const char *path, bool write, struct rp_history_file *file, struct rp_err *err)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    /* The prefix keeps SQLite from taking the name for one of its special names. */
    rp_autofree char *name = path[0] == '/' ? strdup(path) : rp_format("./%s", path);
    const uint64_t added_bytes = write ? MOST_ADDED_BYTES : 1 << 16;
    int result, rc;

    if (!name)
        return rp_out_of_memory(err);
    result = sqlite3_open_v2(name, &file->db, flags, NULL);
    if (result != SQLITE_OK)
        return rp_sql_fail(file->db, result, err);
    if (confine(file, size_of(path, "") + size_of(path, "-wal") + added_bytes, err) < 0)
        return -(int)err->code;
    /* Whoever writes takes the lock first: two that read, then write, would wait for each other. */
    rc = rp_sql_exec(file->db, write ? "BEGIN IMMEDIATE" : "BEGIN", err);
    if (rc < 0)
        return rc;
    file->steps_left += (size_of(path, "") + size_of(path, "-wal")) / STEP_BYTES;
    return check(file, write, err);
}

/* SQLite calls a text file damaged, too, and a user who believes that may remove a good file. This
 * looks before SQLite opens the file, because closing any descriptor of a file drops this
 * process's locks on it.
 */
static int check_magic(const char *path, struct rp_err *err)
{
    static const char magic[] = "SQLite format 3";
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char head[sizeof magic];
    struct stat st;
    ssize_t len;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0; /* SQLite reports what is wrong. */
    len = pread(fd, head, sizeof head, 0);
    if (len <= 0 || (len == sizeof head && memcmp(head, magic, sizeof head) == 0))
        return 0;
    return rp_fail(err, RP_BAD_INPUT, "it is no SQLite database: name another file with --db");
}

static struct rp_history_file *file_of(struct rp_history_store *store)
{
    return (struct rp_history_file *)store;
}

/* The file may come from anybody, so it is opened only if it has the tables that some rocm-perf
 * made and nothing else, and if its pages are sound. */
static int open_file(const char *path, enum rp_history_access access, struct rp_history_file *ret,
                     struct rp_err *err)
{
    int rc = 0;

    if (access != RP_HISTORY_MAKE && !rp_path_exists(path))
        return rp_history_fail_missing(err);
    rc = check_neighbours(path, err);
    if (rc == 0)
        rc = check_magic(path, err);
    if (rc == 0 && access == RP_HISTORY_MAKE)
        rc = make_file(path, err);
    return rc < 0 ? rc : begin(path, access != RP_HISTORY_READ, ret, err);
}

static int open_store(const char *path, enum rp_history_access access,
                      struct rp_history_store **ret, struct rp_err *err)
{
    struct rp_history_file *file = calloc(1, sizeof *file);

    *ret = (struct rp_history_store *)file;
    return file ? open_file(path, access, file, err) : rp_out_of_memory(err);
}

static int commit(struct rp_history_store *store, struct rp_err *err)
{
    return rp_sql_exec(file_of(store)->db, "COMMIT", err);
}

static void close_store(struct rp_history_store *store)
{
    struct rp_history_file *file = file_of(store);

    if (file)
        sqlite3_close(file->db);
    free(file);
}

/* These functions add results to a history and remove them. */

/* --- adding -------------------------------------------------------------------------------- */

static int prepare(struct rp_history_file *file, const char *sql, sqlite3_stmt **ret,
                   struct rp_err *err)
{
    int result = sqlite3_prepare_v2(file->db, sql, -1, ret, NULL);

    return result == SQLITE_OK ? 0 : history_fail(file, result, err);
}

static int step(struct rp_history_file *file, sqlite3_stmt *stmt, struct rp_err *err)
{
    int result = sqlite3_step(stmt);

    sqlite3_reset(stmt);
    return result == SQLITE_DONE ? 0 : history_fail(file, result, err);
}

static int find(struct rp_history_store *store, const char *hash, int64_t *ret_id,
                struct rp_err *err)
{
    struct rp_history_file *file = file_of(store);
    rp_autostmt *stmt = NULL;
    int result;

    if (prepare(file, "SELECT id FROM result WHERE hash = ?1", &stmt, err) < 0)
        return -(int)err->code;
    sqlite3_bind_text(stmt, 1, hash, -1, SQLITE_STATIC);
    result = sqlite3_step(stmt);
    *ret_id = result == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
    return result == SQLITE_ROW || result == SQLITE_DONE ? 0 : history_fail(file, result, err);
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
        rp_autofree char *runs = rp_history_runs_text(times);

        if (!runs)
            return rp_out_of_memory(err);
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

/* A file has one writer at a time, which has the number of its own result. */
static int put(struct rp_history_store *store, const struct rp_history_result *result,
               int64_t *ret_id, struct rp_err *err)
{
    struct rp_history_file *file = file_of(store);
    int rc = put_result(file, result, err);

    if (rc < 0)
        return rc;
    *ret_id = sqlite3_last_insert_rowid(file->db);
    return put_times(file, *ret_id, result, err);
}

/* --- removing ------------------------------------------------------------------------------ */

static int remove_one(struct rp_history_store *store, int64_t id, bool *ret_was, struct rp_err *err)
{
    struct rp_history_file *file = file_of(store);
    rp_autostmt *result = NULL, *times = NULL;
    int rc = prepare(file, "DELETE FROM result WHERE id = ?1", &result, err);

    if (rc == 0)
        rc = prepare(file, "DELETE FROM times WHERE result = ?1", &times, err);
    if (rc < 0)
        return rc;
    sqlite3_bind_int64(result, 1, id);
    sqlite3_bind_int64(times, 1, id);
    rc = step(file, result, err);
    *ret_was = rc == 0 && sqlite3_changes(file->db) > 0;
    return rc < 0 ? rc : step(file, times, err);
}

/* These functions read a whole history into memory. The file may be damaged, or written by anyone.
 */

/* @param needed  NULL is an empty text
 * @return false: no memory */
static bool history_read_text_at(sqlite3_stmt *stmt, int column, bool needed, char **ret)
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
    const bool ok = history_read_text_at(stmt, 1, true, &hash);

    ret->id = sqlite3_column_int64(stmt, 0);
    snprintf(ret->hash, sizeof ret->hash, "%s", hash ? hash : "");
    free(hash);
    ret->software = sqlite3_column_int(stmt, 9);
    ret->wall = sqlite3_column_int(stmt, 10);
    ret->complete = sqlite3_column_int(stmt, 11);
    return ok && history_read_text_at(stmt, 2, true, &ret->added) &&
           history_read_text_at(stmt, 3, false, &ret->commit) &&
           history_read_text_at(stmt, 4, true, &ret->config) &&
           history_read_text_at(stmt, 5, true, &ret->program) &&
           history_read_text_at(stmt, 6, true, &ret->device) &&
           history_read_text_at(stmt, 7, false, &ret->rocm_version) &&
           history_read_text_at(stmt, 8, false, &ret->tracer);
}

static int read_results(struct rp_history_file *file, struct rp_history *ret, struct rp_err *err)
{
    rp_autostmt *stmt = NULL;
    int result = sqlite3_prepare_v2(
        file->db,
        "SELECT id, hash, added, commit_id, config, program,"
        /* Series go on though their model of time has another name now. */
        " replace(device, ', " RP_TIMING_COUNTS_WAS " timing ', ', counts timing '),"
        " rocm_version, tracer,"
        " software, wall, complete FROM result ORDER BY added, id",
        -1, &stmt, NULL);

    while (result == SQLITE_OK || result == SQLITE_ROW) {
        struct rp_history_result *added;

        result = sqlite3_step(stmt);
        if (result != SQLITE_ROW)
            break;
        added = rp_array_add(&ret->results, &ret->count);
        if (!added)
            return rp_out_of_memory(err);
        *added = (struct rp_history_result){0};
        if (!fill_result(stmt, added))
            return rp_out_of_memory(err);
    }
    return result == SQLITE_DONE ? 0 : history_fail(file, result, err);
}

static int add_row(sqlite3_stmt *stmt, struct rp_history_result *to, struct rp_err *err)
{
    struct rp_history_times *row = rp_array_add(&to->times, &to->times_count);
    const int64_t launches = sqlite3_column_int64(stmt, 2);

    if (!row)
        return rp_out_of_memory(err);
    *row = (struct rp_history_times){.runtime_internal = sqlite3_column_int(stmt, 1),
                                     .launches = launches > 0 ? (uint64_t)launches : 0};
    if (!history_read_text_at(stmt, 0, false, &row->kernel))
        return rp_out_of_memory(err);
    return rp_history_read_runs((const char *)sqlite3_column_text(stmt, 3), row, err);
}

static int read_times(struct rp_history_file *file, struct rp_history *history, struct rp_err *err)
{
    rp_autostmt *stmt = NULL;
    int result = sqlite3_prepare_v2(file->db,
                                    "SELECT kernel, runtime_internal, launches, runs_ms FROM times"
                                    " WHERE result = ?1 ORDER BY position",
                                    -1, &stmt, NULL);

    if (result != SQLITE_OK)
        return history_fail(file, result, err);
    for (size_t i = 0; i < history->count; i++) {
        sqlite3_bind_int64(stmt, 1, history->results[i].id);
        while ((result = sqlite3_step(stmt)) == SQLITE_ROW) {
            int rc = add_row(stmt, &history->results[i], err);

            if (rc < 0)
                return rc;
        }
        if (result != SQLITE_DONE)
            return history_fail(file, result, err);
        sqlite3_reset(stmt);
    }
    return 0;
}

static int read_all(struct rp_history_store *store, struct rp_history *ret, struct rp_err *err)
{
    struct rp_history_file *file = file_of(store);
    int rc;

    if (file->is_empty)
        return 0;
    rc = read_results(file, ret, err);
    return rc < 0 ? rc : read_times(file, ret, err);
}

const struct rp_history_database rp_history_sqlite = {
    .check_name = check_name,
    .open = open_store,
    .find = find,
    .put = put,
    .remove = remove_one,
    .read = read_all,
    .commit = commit,
    .close = close_store,
};
