#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/path.h"
#include "base/utf8.h"
#include "trace/rocpd.h"
#include "trace/rocpd_read.h"
#include "trace/rocpd_schema.h"
#include "trace/sqlite.h"

enum { RP_STORE_NODE_ID = 1 };

/**
 * This set records which ids were written and which were only referred to. Zero-initialise it and
 * release it with idset_free().
 */
struct rp_idset {
    struct rp_idmap ids;
    bool *written; /**< per id */
    size_t room;
};

struct rp_store_writer {
    sqlite3 *db;
    char *path;      /**< where the database goes */
    char *temp_path; /**< where it is written; NULL when no file exists */
    char guid[RP_GUID_BYTES];
    bool spoilt; /**< SQLite failed: what the file holds is not known */
    bool process_known;
    int64_t pid, ppid; /**< of the process row */
    int64_t next_event;
    int64_t next_id[RP_ROWS_COUNT];
    sqlite3_stmt *insert[RP_ROWS_COUNT];
    sqlite3_stmt *insert_event, *insert_string, *insert_metadata, *insert_node, *check_json;
    sqlite3_stmt *insert_counter, *insert_counter_value; /**< NULL until they are needed */
    struct rp_idset ids[RP_TABLE_COUNT];
    struct rp_map names; /**< rocpd_string: the ids are the numbers, from 1 */
};

/* Returns the number of an id, with room for whether it was written. */
static uint32_t number_of(struct rp_idset *set, int64_t id)
{
    uint32_t number = rp_idmap_add(&set->ids, (uint64_t)id);

    if (number != RP_NO_NUMBER && number >= set->room) {
        size_t room = set->room ? set->room * 2 : 64;
        bool *written = realloc(set->written, room * sizeof *written);
        if (!written)
            return RP_NO_NUMBER;
        memset(written + set->room, 0, (room - set->room) * sizeof *written);
        set->written = written;
        set->room = room;
    }
    return number;
}

/** Notes that the id has a row. @return false when out of memory */
static bool idset_put(struct rp_idset *set, int64_t id)
{
    uint32_t number = number_of(set, id);

    if (number != RP_NO_NUMBER)
        set->written[number] = true;
    return number != RP_NO_NUMBER;
}

/** Notes that a row refers to the id. @return false when out of memory */
static bool idset_refer(struct rp_idset *set, int64_t id)
{
    return number_of(set, id) != RP_NO_NUMBER;
}

static bool idset_has(const struct rp_idset *set, int64_t id)
{
    uint32_t number = rp_idmap_find(&set->ids, (uint64_t)id);

    return number != RP_NO_NUMBER && number < set->room && set->written[number];
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/**
 * Returns ids that were referred to but have no row, in ascending order, or NULL when memory ends.
 * The caller frees them.
 */
static int64_t *idset_missing(const struct rp_idset *set, size_t *ret_count)
{
    int64_t *ids = malloc(((size_t)set->ids.count + 1) * sizeof *ids);
    size_t count = 0;

    if (!ids)
        return NULL;
    for (uint32_t i = 0; i < set->ids.count; i++)
        if (i >= set->room || !set->written[i])
            ids[count++] = (int64_t)set->ids.keys[i];
    qsort(ids, count, sizeof *ids, by_value);
    *ret_count = count;
    return ids;
}

static void idset_free(struct rp_idset *set)
{
    rp_idmap_free(&set->ids);
    free(set->written);
    memset(set, 0, sizeof *set);
}

/* --- statements --------------------------------------------------------------------------- */

static int prepare(struct rp_store_writer *w, const char *sql, sqlite3_stmt **ret,
                   struct rp_err *err)
{
    int result = sqlite3_prepare_v3(w->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);

    return result == SQLITE_OK ? 0 : rp_sql_fail(w->db, result, err);
}

static int prepare_insert(struct rp_store_writer *w, enum rp_table table, const char *verb,
                          const char *columns, size_t count, sqlite3_stmt **ret, struct rp_err *err)
{
    rp_autobuf sql = {0};
    char suffix[RP_GUID_BYTES];

    rp_schema_suffix(w->guid, suffix);
    rp_buf_printf(&sql, "%s INTO \"%s_%s\" (%s) VALUES (?", verb, rp_table_name(table), suffix,
                  columns);
    for (size_t i = 1; i < count; i++)
        rp_buf_puts(&sql, ", ?");
    rp_buf_puts(&sql, ")");
    if (sql.failed)
        return rp_out_of_memory(err);
    return prepare(w, sql.data, ret, err);
}

/** Prepares "INSERT INTO table (columns) VALUES (?, ...)". */
static int writer_prepare_insert(struct rp_store_writer *w, enum rp_table table,
                                 const char *columns, size_t count, sqlite3_stmt **ret,
                                 struct rp_err *err)
{
    return prepare_insert(w, table, "INSERT", columns, count, ret, err);
}

static int prepare_rows(struct rp_store_writer *w, enum rp_rows rows, struct rp_err *err)
{
    const struct rp_spec *spec = &rp_specs[rows];
    /* The process row is written again when the process has ended. */
    const char *verb = rows == RP_ROWS_process ? "INSERT OR REPLACE" : "INSERT";
    rp_autobuf columns = {0};

    for (size_t i = 0; i < spec->column_count; i++)
        rp_buf_printf(&columns, "%s\"%s\"", i ? ", " : "", spec->columns[i].name);
    if (columns.failed)
        return rp_out_of_memory(err);
    return prepare_insert(w, spec->table, verb, columns.data, spec->column_count, &w->insert[rows],
                          err);
}

static const char json_check[] =
    "SELECT CASE WHEN json_valid(?1) THEN json_type(?1) = 'object' ELSE 0 END";

/** Prepares the statements for every kind of row. */
static int writer_prepare(struct rp_store_writer *w, struct rp_err *err)
{
    int result = 0;

    for (int r = 0; r < RP_ROWS_COUNT && result == 0; r++)
        if (!rp_specs[r].read_only)
            result = prepare_rows(w, (enum rp_rows)r, err);
    if (result == 0)
        result = prepare_insert(w, RP_TABLE_event, "INSERT",
                                "id, category_id, stack_id, parent_stack_id, correlation_id, "
                                "call_stack, line_info",
                                7, &w->insert_event, err);
    if (result == 0)
        result =
            prepare_insert(w, RP_TABLE_string, "INSERT", "id, string", 2, &w->insert_string, err);
    if (result == 0)
        result = prepare_insert(w, RP_TABLE_metadata, "INSERT", "tag, value", 2,
                                &w->insert_metadata, err);
    if (result == 0)
        result = prepare_insert(w, RP_TABLE_info_node, "INSERT",
                                "id, hash, machine_id, system_name, hostname, release, version,"
                                " hardware_name",
                                8, &w->insert_node, err);
    if (result == 0)
        result = prepare(w, json_check, &w->check_json, err);
    return result;
}

static void finalize(sqlite3_stmt **stmt)
{
    sqlite3_finalize(*stmt);
    *stmt = NULL;
}

static void writer_finalize(struct rp_store_writer *w)
{
    for (int r = 0; r < RP_ROWS_COUNT; r++)
        finalize(&w->insert[r]);
    finalize(&w->insert_event);
    finalize(&w->insert_string);
    finalize(&w->insert_metadata);
    finalize(&w->insert_node);
    finalize(&w->insert_counter);
    finalize(&w->insert_counter_value);
    finalize(&w->check_json);
}

/** Runs a bound INSERT; @p what and @p id name the row in messages. */
static int writer_step(struct rp_store_writer *w, sqlite3_stmt *stmt, const char *what, int64_t id,
                       struct rp_err *err)
{
    int result = sqlite3_step(stmt);
    int extended = sqlite3_extended_errcode(w->db);

    sqlite3_reset(stmt);
    if (result == SQLITE_DONE)
        return 0;
    if (extended == SQLITE_CONSTRAINT_PRIMARYKEY || extended == SQLITE_CONSTRAINT_ROWID)
        return rp_fail(err, RP_BAD_INPUT, "%s %" PRId64 " was written twice", what, id);
    w->spoilt = true;
    rp_sql_fail(w->db, result, err);
    return rp_wrap(err, "write %s", w->path);
}

/* --- values ------------------------------------------------------------------------------- */

/** Binds text, made UTF-8; NULL is NULL. The text must last until the statement has run. */
static int writer_bind_text(struct rp_store_writer *w, sqlite3_stmt *stmt, int at, const char *text,
                            struct rp_err *err)
{
    size_t len = text ? strlen(text) : 0;
    rp_autobuf mended = {0};
    int result;

    if (!text) {
        result = sqlite3_bind_null(stmt, at);
    } else if (rp_utf8_is_valid(text, len)) {
        result = sqlite3_bind_text64(stmt, at, text, len, SQLITE_STATIC, SQLITE_UTF8);
    } else {
        rp_utf8_fix(&mended, text, len);
        if (mended.failed)
            return rp_out_of_memory(err);
        result =
            sqlite3_bind_text64(stmt, at, mended.data, mended.len, SQLITE_TRANSIENT, SQLITE_UTF8);
    }
    return result == SQLITE_OK ? 0 : rp_sql_fail(w->db, result, err);
}

/* The views use json_extract, which fails a whole query for one bad text. */
static int bind_json(struct rp_store_writer *w, const struct rp_spec *spec, sqlite3_stmt *stmt,
                     int at, const char *text, struct rp_err *err)
{
    bool valid;
    int result;

    if (!text) {
        sqlite3_bind_text(stmt, at, "{}", 2, SQLITE_STATIC);
        return 0;
    }
    if (writer_bind_text(w, w->check_json, 1, text, err) < 0)
        return -(int)RP_ENVIRONMENT;
    result = sqlite3_step(w->check_json);
    valid = result == SQLITE_ROW && sqlite3_column_int(w->check_json, 0);
    sqlite3_reset(w->check_json);
    if (result != SQLITE_ROW &&
        result != SQLITE_ERROR) /* An older SQLite asks for the type first. */
        return rp_sql_fail(w->db, result, err);
    if (!valid)
        return rp_fail(err, RP_BAD_INPUT, "%s: extdata is not a JSON object", spec->what);
    return writer_bind_text(w, stmt, at, text, err);
}

static int bind_string(struct rp_store_writer *w, sqlite3_stmt *stmt, int at, const char *text,
                       struct rp_err *err)
{
    rp_autobuf mended = {0};
    const uint32_t known = w->names.count;
    uint32_t number;

    text = text ? text : "";
    if (!rp_utf8_is_valid(text, strlen(text))) {
        rp_utf8_fix(&mended, text, strlen(text));
        text = rp_buf_text(&mended);
    }
    number = mended.failed ? RP_NO_NUMBER : rp_map_add_text(&w->names, text);
    if (number == RP_NO_NUMBER) {
        w->spoilt = true;
        return rp_out_of_memory(err);
    }
    sqlite3_bind_int64(stmt, at, (int64_t)number + 1);
    if (number < known)
        return 0;
    sqlite3_bind_int64(w->insert_string, 1, (int64_t)number + 1);
    sqlite3_bind_text(w->insert_string, 2, text, -1, SQLITE_STATIC);
    return writer_step(w, w->insert_string, "string", (int64_t)number + 1, err);
}

static void bind_ref(sqlite3_stmt *stmt, int at, int64_t id)
{
    if (id < 0)
        sqlite3_bind_null(stmt, at);
    else
        sqlite3_bind_int64(stmt, at, id);
}

/* rocprofv3's views drop rows without a thread, so the unknown thread is thread 0 and has a row
 * too.
 */
static int64_t ref_of(const struct rp_column *column, const void *row)
{
    int64_t id = *(const int64_t *)(const void *)((const char *)row + column->offset);

    return column->kind == RP_KIND_THREAD && id < 0 ? 0 : id;
}

static void bind_storage(sqlite3_stmt *stmt, int at, const void *row)
{
    const struct rp_row_code_object *object = row;

    if (object->storage_known)
        sqlite3_bind_text(stmt, at, object->storage_is_file ? "FILE" : "MEMORY", -1, SQLITE_STATIC);
    else
        sqlite3_bind_null(stmt, at);
}

static int bind_column(struct rp_store_writer *w, const struct rp_spec *spec,
                       const struct rp_column *column, sqlite3_stmt *stmt, int at, const void *row,
                       int64_t id, struct rp_err *err)
{
    const char *field = (const char *)row + column->offset;
    const int64_t *number = (const int64_t *)(const void *)field;
    const char *const *text = (const char *const *)(const void *)field;

    switch (column->kind) {
    case RP_KIND_ID:
        sqlite3_bind_int64(stmt, at, id);
        return 0;
    case RP_KIND_INT:
        sqlite3_bind_int64(stmt, at, *number);
        return 0;
    case RP_KIND_REAL:
        sqlite3_bind_double(stmt, at, *(const double *)(const void *)field);
        return 0;
    case RP_KIND_TIME:
        if (*number)
            sqlite3_bind_int64(stmt, at, *number);
        else
            sqlite3_bind_null(stmt, at);
        return 0;
    case RP_KIND_KNOWN:
        bind_ref(stmt, at, *number);
        return 0;
    case RP_KIND_REF:
    case RP_KIND_THREAD:
        bind_ref(stmt, at, ref_of(column, row));
        return 0;
    case RP_KIND_TEXT:
    case RP_KIND_WRITTEN:
        return writer_bind_text(w, stmt, at, *text, err);
    case RP_KIND_JSON:
        return bind_json(w, spec, stmt, at, *text, err);
    case RP_KIND_STRING:
        return bind_string(w, stmt, at, *text, err);
    case RP_KIND_TYPE:
        sqlite3_bind_text(stmt, at, *(const bool *)field ? "GPU" : "CPU", 3, SQLITE_STATIC);
        return 0;
    case RP_KIND_STORAGE:
        bind_storage(stmt, at, row);
        return 0;
    case RP_KIND_EVENT:
    case RP_KIND_EVENT_BOTH:
    case RP_KIND_EVENT_ROW:
        sqlite3_bind_int64(stmt, at, w->next_event + 1);
        return 0;
    case RP_KIND_NODE:
        sqlite3_bind_int64(stmt, at, RP_STORE_NODE_ID);
        return 0;
    case RP_KIND_PROCESS:
        sqlite3_bind_int64(stmt, at, w->pid);
        return 0;
    case RP_KIND_PARENT:
        sqlite3_bind_int64(stmt, at, w->ppid);
        return 0;
    case RP_KIND_NO_REGION:
        return bind_string(w, stmt, at, "", err);
    }
    return rp_fail(err, RP_BAD_INPUT, "%s: unknown kind of column", spec->what);
}

/** Says to which call an event belongs, and where that was made. */
struct event_of {
    int64_t stack[2];                   /**< the call, and the one around it */
    const char *call_stack, *line_info; /**< NULL: not known */
};

/* The ids of the call and of the one around it; of work, rocprofv3 stores the launching call's id
 * as both. correlation_id is for external tools, 0 without one. */
static int put_event(struct rp_store_writer *w, const struct rp_spec *spec,
                     const struct event_of *of, struct rp_err *err)
{
    sqlite3_stmt *stmt = w->insert_event;
    int64_t id = w->next_event + 1;
    int result = bind_string(w, stmt, 2, spec->category, err);

    if (result == 0)
        result = bind_json(w, spec, stmt, 6, of->call_stack, err);
    if (result == 0)
        result = bind_json(w, spec, stmt, 7, of->line_info, err);
    if (result < 0)
        return result;
    sqlite3_bind_int64(stmt, 1, id);
    sqlite3_bind_int64(stmt, 3, of->stack[0]);
    sqlite3_bind_int64(stmt, 4, of->stack[1]);
    sqlite3_bind_int64(stmt, 5, 0);
    result = writer_step(w, stmt, "event", id, err);
    if (result == 0)
        w->next_event = id;
    return result;
}

/* --- rows --------------------------------------------------------------------------------- */

static int64_t own_id(struct rp_store_writer *w, enum rp_rows rows, const void *row)
{
    const struct rp_spec *spec = &rp_specs[rows];
    int64_t id = 0;

    for (size_t i = 0; i < spec->column_count; i++)
        if (spec->columns[i].kind == RP_KIND_ID)
            id = *(const int64_t *)(const void *)((const char *)row + spec->columns[i].offset);
    if (spec->numbered && id == 0)
        id = w->next_id[rows] + 1;
    return id;
}

static void stack_of(const struct rp_column *column, const void *row, int64_t ret_stack[2])
{
    const int64_t *field = (const int64_t *)(const void *)((const char *)row + column->offset);

    if (column->kind == RP_KIND_EVENT || column->kind == RP_KIND_EVENT_BOTH)
        ret_stack[0] = ret_stack[1] = field[0];
    else if (column->kind == RP_KIND_EVENT_ROW)
        memcpy(ret_stack, field + 1, 2 * sizeof field[0]);
}

static int bind_row(struct rp_store_writer *w, enum rp_rows rows, const void *row, int64_t id,
                    int64_t ret_stack[2], struct rp_err *err)
{
    const struct rp_spec *spec = &rp_specs[rows];

    for (size_t i = 0; i < spec->column_count; i++) {
        const struct rp_column *column = &spec->columns[i];
        int result = bind_column(w, spec, column, w->insert[rows], (int)i + 1, row, id, err);
        if (result < 0)
            return result;
        stack_of(column, row, ret_stack);
    }
    return 0;
}

/* Rows that a stored row refers to must exist at the commit. */
static bool note_ids(struct rp_store_writer *w, enum rp_rows rows, const void *row, int64_t id)
{
    const struct rp_spec *spec = &rp_specs[rows];

    if (id > w->next_id[rows])
        w->next_id[rows] = id;
    for (size_t i = 0; i < spec->column_count; i++) {
        const struct rp_column *column = &spec->columns[i];
        if (column->kind != RP_KIND_REF && column->kind != RP_KIND_THREAD)
            continue;
        if (ref_of(column, row) >= 0 &&
            !idset_refer(&w->ids[column->refers_to], ref_of(column, row)))
            return false;
    }
    /* Nothing refers to dispatches and copies: their ids need not be remembered. */
    return spec->numbered || rows == RP_ROWS_process || idset_put(&w->ids[spec->table], id);
}

static int put(struct rp_store_writer *w, enum rp_rows rows, const void *row, struct rp_err *err)
{
    const struct rp_spec *spec = &rp_specs[rows];
    const struct rp_row_region *region = rows == RP_ROWS_region ? row : NULL;
    struct event_of of = {.call_stack = region ? region->call_stack : NULL,
                          .line_info = region ? region->line_info : NULL};
    int64_t id = own_id(w, rows, row);
    int result;

    if (w->spoilt)
        return rp_fail(err, RP_ENVIRONMENT, "write %s: an earlier write failed", w->path);
    if (!w->process_known)
        return rp_fail(err, RP_BAD_INPUT, "the process row must be written before others");
    if (id < 0)
        return rp_fail(err, RP_BAD_INPUT, "%s: id %" PRId64 " is negative", spec->what, id);
    result = bind_row(w, rows, row, id, of.stack, err);
    if (result == 0)
        result = writer_step(w, w->insert[rows], spec->what, id, err);
    if (result == 0 && spec->category)
        result = put_event(w, spec, &of, err);
    if (result == 0 && !note_ids(w, rows, row, id)) {
        w->spoilt = true;
        result = rp_out_of_memory(err);
    }
    return result;
}

int rp_store_put_process(struct rp_store_writer *w, const struct rp_row_process *row,
                         struct rp_err *err)
{
    if (w->process_known && w->pid != row->pid)
        return rp_fail(err, RP_BAD_INPUT,
                       "one database holds one process: %" PRId64 ", not also %" PRId64, w->pid,
                       row->pid);
    w->process_known = true;
    w->pid = row->pid;
    w->ppid = row->ppid;
    return put(w, RP_ROWS_process, row, err);
}

int rp_store_put_thread(struct rp_store_writer *w, int64_t tid, struct rp_err *err)
{
    struct rp_row_thread row = {.tid = tid, .name = tid ? NULL : "unknown thread"};

    if (idset_has(&w->ids[RP_TABLE_info_thread], tid))
        return 0;
    return put(w, RP_ROWS_thread, &row, err);
}

int rp_store_put_region(struct rp_store_writer *w, const struct rp_row_region *row,
                        const struct rp_row_arg *args, size_t arg_count, struct rp_err *err)
{
    int result = put(w, RP_ROWS_region, row, err);

    for (size_t i = 0; i < arg_count && result == 0; i++) {
        struct rp_row_arg arg = args[i];

        arg.event_id = w->next_event;
        result = put(w, RP_ROWS_arg, &arg, err);
    }
    return result;
}

int rp_store_put_row(struct rp_store_writer *w, enum rp_rows rows, const void *row,
                     struct rp_err *err)
{
    int result = 0;

    if (!w->insert[rows]) { /* The table is created with its first row. */
        result = rp_schema_create_own(w->db, rp_specs[rows].table, w->guid, err);
        if (result == 0)
            result = prepare_rows(w, rows, err);
    }
    return result < 0 ? result : put(w, rows, row, err);
}

/* --- completion --------------------------------------------------------------------------- */

/* The names are those of rocprofv3: queue 1 is "Queue 0", stream 1 is "Stream 1". */
static int put_default(struct rp_store_writer *w, enum rp_rows rows, int64_t id, struct rp_err *err)
{
    bool queue = rows == RP_ROWS_queue;
    struct rp_row_queue row = {.id = id};
    char name[40];

    if (rows == RP_ROWS_thread)
        return rp_store_put_thread(w, id, err);
    if (id == 0)
        snprintf(name, sizeof name, "Default %s", queue ? "Queue" : "Stream");
    else
        snprintf(name, sizeof name, queue ? "Queue %" PRId64 : "Stream %" PRId64, id - queue);
    row.name = name;
    return put(w, rows, &row, err);
}

static int complete_rows(struct rp_store_writer *w, enum rp_rows rows, struct rp_err *err)
{
    const struct rp_spec *spec = &rp_specs[rows];
    bool has_default = rows == RP_ROWS_thread || rows == RP_ROWS_queue || rows == RP_ROWS_stream;
    size_t count;
    rp_autofree int64_t *ids = idset_missing(&w->ids[spec->table], &count);

    if (!ids)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count; i++) {
        int result;
        if (!has_default)
            return rp_fail(err, RP_BAD_INPUT, "%s %" PRId64 " is referred to but was not written",
                           spec->what, ids[i]);
        result = put_default(w, rows, ids[i], err);
        if (result < 0)
            return result;
    }
    return 0;
}

/** Adds the threads, queues and streams that rows refer to; fails for other missing rows. */
static int writer_complete(struct rp_store_writer *w, struct rp_err *err)
{
    int result = 0;

    if (!w->process_known)
        return rp_fail(err, RP_BAD_INPUT, "there is no process row");
    for (int r = 0; r < RP_ROWS_COUNT && result == 0; r++)
        if (!rp_specs[r].read_only)
            result = complete_rows(w, (enum rp_rows)r, err);
    return result;
}

/* Prepares the columns that rocprofv3 fills. The symbol is the name where a counter has no other.
 */
static int writer_counters_prepare(struct rp_store_writer *w, struct rp_err *err)
{
    int result = 0;

    if (!w->insert_counter)
        result = writer_prepare_insert(
            w, RP_TABLE_info_pmc,
            "id, nid, pid, agent_id, target_arch, event_code, instance_id, name, symbol,"
            " description, component, value_type, block, is_constant, is_derived",
            15, &w->insert_counter, err);
    if (result == 0 && !w->insert_counter_value)
        result = writer_prepare_insert(w, RP_TABLE_pmc_event, "event_id, pmc_id, value", 3,
                                       &w->insert_counter_value, err);
    return result;
}

static int bind_texts(struct rp_store_writer *w, const struct rp_row_counter_info *row,
                      struct rp_err *err)
{
    const struct {
        int at;
        const char *text;
    } texts[] = {
        {5, "GPU"},   {8, row->name}, {9, row->name},   {10, row->description},
        {11, "rocm"}, {12, "ABS"},    {13, row->block},
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int result = writer_bind_text(w, w->insert_counter, texts[i].at, texts[i].text, err);
        if (result < 0)
            return result;
    }
    return 0;
}

int rp_store_put_counter(struct rp_store_writer *w, const struct rp_row_counter_info *row,
                         struct rp_err *err)
{
    int result = writer_counters_prepare(w, err);

    if (result == 0)
        result = bind_texts(w, row, err);
    if (result < 0)
        return result;
    sqlite3_bind_int64(w->insert_counter, 1, row->id);
    sqlite3_bind_int64(w->insert_counter, 2, RP_STORE_NODE_ID);
    sqlite3_bind_int64(w->insert_counter, 3, w->pid);
    sqlite3_bind_int64(w->insert_counter, 4, row->agent_id);
    sqlite3_bind_int64(w->insert_counter, 6, 0);
    sqlite3_bind_int64(w->insert_counter, 7, 0);
    sqlite3_bind_int64(w->insert_counter, 14, 0);
    sqlite3_bind_int64(w->insert_counter, 15, 0);
    return writer_step(w, w->insert_counter, "counter", row->id, err);
}

int rp_store_put_counter_value(struct rp_store_writer *w, int64_t counter_id, double value,
                               struct rp_err *err)
{
    int result = writer_counters_prepare(w, err);

    if (result < 0)
        return result;
    if (w->next_event == 0)
        return rp_fail(err, RP_BAD_INPUT, "a counter value comes before the first dispatch");
    sqlite3_bind_int64(w->insert_counter_value, 1, w->next_event);
    sqlite3_bind_int64(w->insert_counter_value, 2, counter_id);
    sqlite3_bind_double(w->insert_counter_value, 3, value);
    return writer_step(w, w->insert_counter_value, "counter value", counter_id, err);
}

/* The file is private until it is renamed, so SQLite need not protect it from crashes: the one
 * fsync before the rename does. */
static const char pragmas[] = "PRAGMA journal_mode = OFF;"
                              "PRAGMA synchronous = OFF;"
                              "PRAGMA locking_mode = EXCLUSIVE;"
                              "PRAGMA foreign_keys = OFF;"
                              "PRAGMA page_size = 4096;"
                              "PRAGMA encoding = 'UTF-8';"
                              "PRAGMA cache_size = -16384;"
                              "BEGIN EXCLUSIVE;";

/* Version 7 has 48 bits of time, and 12 and 62 random ones; the rest says "7" and "variant 10". */
static void format_guid(const struct rp_store_origin *origin, char ret[RP_GUID_BYTES])
{
    uint64_t time_ms = origin->guid_time_ms & 0xffffffffffffu;
    uint64_t low = (origin->guid_random[1] & 0x3fffffffffffffffu) | 0x8000000000000000u;

    snprintf(ret, RP_GUID_BYTES,
             "%08" PRIx64 "-%04" PRIx64 "-7%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64, time_ms >> 16,
             time_ms & 0xffff, origin->guid_random[0] & 0xfff, low >> 48, low & 0xffffffffffffu);
}

/* Returns the folder of @p path with its last '/', or "./", so that SQLite cannot take the name
 * for a URI.
 */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
}

/* An empty file with a name of its own in the folder of w->path. */
static int create_temp(struct rp_store_writer *w, struct rp_err *err)
{
    rp_autofree char *folder = folder_of(w->path);

    if (!folder)
        return rp_out_of_memory(err);
    for (int n = 0; n < 1000; n++) {
        rp_autobuf name = {0};
        struct stat st;
        int fd;

        rp_buf_printf(&name, "%s.rocm-perf-%ld-%d.tmp", folder, (long)getpid(), n);
        if (name.failed)
            return rp_out_of_memory(err);
        fd = open(name.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, RP_MODE_FILE);
        if (fd >= 0) {
            if (lstat(w->path, &st) == 0 && S_ISREG(st.st_mode))
                /* The new file gets the mode of the file that it replaces. */
                (void)!fchmod(fd, st.st_mode & 0777);
            close(fd);
            w->temp_path = rp_buf_steal(&name);
            return 0;
        }
        if (errno != EEXIST)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot create a file in '%s'",
                                 folder);
    }
    return rp_fail(err, RP_ENVIRONMENT, "too many unfinished databases in '%s'", folder);
}

static int put_node(struct rp_store_writer *w, const struct rp_store_origin *origin,
                    struct rp_err *err)
{
    const char *const texts[] = {origin->machine_id ? origin->machine_id : "",
                                 origin->system_name,
                                 origin->hostname,
                                 origin->release,
                                 origin->version,
                                 origin->hardware_name};
    sqlite3_stmt *stmt = w->insert_node;

    sqlite3_bind_int64(stmt, 1, RP_STORE_NODE_ID);
    sqlite3_bind_int64(stmt, 2, origin->node_hash);
    for (int i = 0; i < (int)(sizeof texts / sizeof texts[0]); i++)
        if (writer_bind_text(w, stmt, i + 3, texts[i], err) < 0)
            return -(int)RP_ENVIRONMENT;
    return writer_step(w, stmt, "node", RP_STORE_NODE_ID, err);
}

static int add_metadata(struct rp_store_writer *w, const char *tag, const char *value,
                        struct rp_err *err)
{
    if (writer_bind_text(w, w->insert_metadata, 1, tag, err) < 0 ||
        writer_bind_text(w, w->insert_metadata, 2, value, err) < 0)
        return -(int)RP_ENVIRONMENT;
    return writer_step(w, w->insert_metadata, "metadata", 0, err);
}

static int put_origin(struct rp_store_writer *w, const struct rp_store_origin *origin,
                      struct rp_err *err)
{
    char uuid[RP_GUID_BYTES + 1] = "_";
    int result;

    rp_schema_suffix(w->guid, uuid + 1);
    result = add_metadata(w, "schema_version", "3", err);
    if (result == 0)
        result = add_metadata(w, "uuid", uuid, err);
    if (result == 0)
        result = add_metadata(w, "guid", w->guid, err);
    if (result == 0 && origin->device)
        result = add_metadata(w, "rocm_perf_device", origin->device, err);
    if (result == 0 && !origin->complete)
        result = add_metadata(w, "rocm_perf_incomplete", "1", err);
    return result < 0 ? result : put_node(w, origin, err);
}

static int begin(struct rp_store_writer *w, const struct rp_store_origin *origin,
                 struct rp_err *err)
{
    int result;

    if (create_temp(w, err) < 0)
        return -(int)RP_ENVIRONMENT;
    result =
        sqlite3_open_v2(w->temp_path, &w->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (result != SQLITE_OK)
        return rp_sql_fail(w->db, result, err);
    sqlite3_extended_result_codes(w->db, 1);
    format_guid(origin, w->guid);
    result = rp_sql_exec(w->db, pragmas, err);
    if (result == 0)
        result = rp_schema_create(w->db, w->guid, err);
    if (result == 0)
        result = writer_prepare(w, err);
    return result < 0 ? result : put_origin(w, origin, err);
}

int rp_store_writer_open(const char *path, const struct rp_store_origin *origin,
                         struct rp_store_writer **ret, struct rp_err *err)
{
    struct rp_store_writer *w;
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return rp_fail_errno(err, RP_ENVIRONMENT, EISDIR, "write %s", path);
    w = calloc(1, sizeof *w);
    if (w)
        w->path = strdup(path);
    if (!w || !w->path) {
        rp_store_writer_abandon(w);
        return rp_out_of_memory(err);
    }
    if (begin(w, origin, err) < 0) {
        rp_store_writer_abandon(w);
        return rp_wrap(err, "write %s", path);
    }
    *ret = w;
    return 0;
}

int rp_store_put_metadata(struct rp_store_writer *w, const char *tag, const char *value,
                          struct rp_err *err)
{
    static const char *const own[] = {"schema_version", "uuid", "guid"};

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(tag, own[i]) == 0)
            return rp_fail(err, RP_BAD_INPUT, "metadata '%s' belongs to the schema", tag);
    return add_metadata(w, tag, value ? value : "", err);
}

static int sync_file(const char *path, struct rp_err *err)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot bring it to the disk");
    return 0;
}

static int finish(struct rp_store_writer *w, struct rp_err *err)
{
    int result;

    if (w->spoilt)
        return rp_fail(err, RP_ENVIRONMENT, "an earlier write failed");
    result = writer_complete(w, err);
    if (result == 0)
        result = rp_sql_exec(w->db, "COMMIT", err);
    if (result < 0)
        return result;
    writer_finalize(w);
    result = sqlite3_close(w->db);
    if (result != SQLITE_OK)
        return rp_sql_fail(w->db, result, err);
    w->db = NULL;
    if (sync_file(w->temp_path, err) < 0)
        return -(int)RP_ENVIRONMENT;
    if (rename(w->temp_path, w->path) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot put it in place");
    free(rp_steal(w->temp_path));
    /* The database is complete and in place, so a folder that cannot be synced is not an error. */
    rp_sync_folder_of(w->path);
    return 0;
}

int rp_store_writer_commit(struct rp_store_writer *w, struct rp_err *err)
{
    int result = finish(w, err);

    if (result < 0)
        result = rp_wrap(err, "write %s", w->path);
    rp_store_writer_abandon(w);
    return result;
}

void rp_store_writer_abandon(struct rp_store_writer *w)
{
    if (!w)
        return;
    writer_finalize(w);
    sqlite3_close(w->db);
    if (w->temp_path)
        unlink(w->temp_path);
    for (int t = 0; t < RP_TABLE_COUNT; t++)
        idset_free(&w->ids[t]);
    rp_map_free(&w->names);
    free(w->temp_path);
    free(w->path);
    free(w);
}
