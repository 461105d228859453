#include "store/writer.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "rocm-perf/store.h"
#include "store/sqlerr.h"
#include "store/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return prepare(w, sql.data, ret, err);
}

int rp_writer_prepare_insert(struct rp_store_writer *w, enum rp_table table, const char *columns,
                             size_t count, sqlite3_stmt **ret, struct rp_err *err)
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return prepare_insert(w, spec->table, verb, columns.data, spec->column_count, &w->insert[rows],
                          err);
}

static const char json_check[] =
    "SELECT CASE WHEN json_valid(?1) THEN json_type(?1) = 'object' ELSE 0 END";

int rp_writer_prepare(struct rp_store_writer *w, struct rp_err *err)
{
    int result = 0;

    for (int r = 0; r < RP_ROWS_COUNT && result == 0; r++)
        if (!rp_specs[r].read_only)
            result = prepare_rows(w, (enum rp_rows)r, err);
    if (result == 0)
        result = prepare_insert(w, RP_TABLE_event, "INSERT",
                                "id, category_id, stack_id, parent_stack_id, correlation_id", 5,
                                &w->insert_event, err);
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

void rp_writer_finalize(struct rp_store_writer *w)
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

int rp_writer_step(struct rp_store_writer *w, sqlite3_stmt *stmt, const char *what, int64_t id,
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

int rp_writer_bind_text(struct rp_store_writer *w, sqlite3_stmt *stmt, int at, const char *text,
                        struct rp_err *err)
{
    size_t len = text ? strlen(text) : 0;
    rp_autobuf mended = {0};
    int result;

    if (!text) {
        result = sqlite3_bind_null(stmt, at);
    } else if (rp_utf8_valid(text, len)) {
        result = sqlite3_bind_text64(stmt, at, text, len, SQLITE_STATIC, SQLITE_UTF8);
    } else {
        rp_utf8_mend(&mended, text, len);
        if (mended.failed)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
    if (rp_writer_bind_text(w, w->check_json, 1, text, err) < 0)
        return -(int)RP_ENVIRONMENT;
    result = sqlite3_step(w->check_json);
    valid = result == SQLITE_ROW && sqlite3_column_int(w->check_json, 0);
    sqlite3_reset(w->check_json);
    if (result != SQLITE_ROW)
        return rp_sql_fail(w->db, result, err);
    if (!valid)
        return rp_fail(err, RP_BAD_INPUT, "%s: extdata is not a JSON object", spec->what);
    return rp_writer_bind_text(w, stmt, at, text, err);
}

static int bind_string(struct rp_store_writer *w, sqlite3_stmt *stmt, int at, const char *text,
                       struct rp_err *err)
{
    rp_autobuf mended = {0};
    bool is_new;
    int64_t id;

    text = text ? text : "";
    if (!rp_utf8_valid(text, strlen(text))) {
        rp_utf8_mend(&mended, text, strlen(text));
        text = rp_buf_text(&mended);
    }
    id = mended.failed ? 0 : rp_names_id(&w->names, text, &is_new);
    if (!id) {
        w->spoilt = true;
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    sqlite3_bind_int64(stmt, at, id);
    if (!is_new)
        return 0;
    sqlite3_bind_int64(w->insert_string, 1, id);
    sqlite3_bind_text(w->insert_string, 2, text, -1, SQLITE_STATIC);
    return rp_writer_step(w, w->insert_string, "string", id, err);
}

static void bind_ref(sqlite3_stmt *stmt, int at, int64_t id)
{
    if (id < 0)
        sqlite3_bind_null(stmt, at);
    else
        sqlite3_bind_int64(stmt, at, id);
}

/* rocprofv3's views drop rows without a thread: the unknown one is thread 0 and has a row too. */
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
        return rp_writer_bind_text(w, stmt, at, *text, err);
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

/* The ids of the call and of the one around it; of work, rocprofv3 stores the launching call's id
 * as both. correlation_id is for external tools, 0 without one. */
static int put_event(struct rp_store_writer *w, const struct rp_spec *spec, const int64_t stack[2],
                     struct rp_err *err)
{
    sqlite3_stmt *stmt = w->insert_event;
    int64_t id = w->next_event + 1;
    int result = bind_string(w, stmt, 2, spec->category, err);

    if (result < 0)
        return result;
    sqlite3_bind_int64(stmt, 1, id);
    sqlite3_bind_int64(stmt, 3, stack[0]);
    sqlite3_bind_int64(stmt, 4, stack[1]);
    sqlite3_bind_int64(stmt, 5, 0);
    result = rp_writer_step(w, stmt, "event", id, err);
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

/* What a stored row refers to must be there at the commit. */
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
            !rp_idset_need(&w->ids[column->refers_to], ref_of(column, row)))
            return false;
    }
    /* Nothing refers to dispatches and copies: their ids need not be remembered. */
    return spec->numbered || rows == RP_ROWS_process || rp_idset_put(&w->ids[spec->table], id);
}

static int put(struct rp_store_writer *w, enum rp_rows rows, const void *row, struct rp_err *err)
{
    const struct rp_spec *spec = &rp_specs[rows];
    int64_t stack[2] = {0}, id = own_id(w, rows, row);
    int result;

    if (w->spoilt)
        return rp_fail(err, RP_ENVIRONMENT, "write %s: an earlier write failed", w->path);
    if (!w->process_known)
        return rp_fail(err, RP_BAD_INPUT, "the process row must be written before others");
    if (id < 0)
        return rp_fail(err, RP_BAD_INPUT, "%s: id %" PRId64 " is negative", spec->what, id);
    result = bind_row(w, rows, row, id, stack, err);
    if (result == 0)
        result = rp_writer_step(w, w->insert[rows], spec->what, id, err);
    if (result == 0 && spec->category)
        result = put_event(w, spec, stack, err);
    if (result == 0 && !note_ids(w, rows, row, id)) {
        w->spoilt = true;
        result = rp_fail(err, RP_ENVIRONMENT, "out of memory");
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

    if (rp_idset_has(&w->ids[RP_TABLE_info_thread], tid))
        return 0;
    return put(w, RP_ROWS_thread, &row, err);
}

int rp_store_put_agent(struct rp_store_writer *w, const struct rp_row_agent *row,
                       struct rp_err *err)
{
    return put(w, RP_ROWS_agent, row, err);
}

int rp_store_put_queue(struct rp_store_writer *w, const struct rp_row_queue *row,
                       struct rp_err *err)
{
    return put(w, RP_ROWS_queue, row, err);
}

int rp_store_put_stream(struct rp_store_writer *w, const struct rp_row_queue *row,
                        struct rp_err *err)
{
    return put(w, RP_ROWS_stream, row, err);
}

int rp_store_put_code_object(struct rp_store_writer *w, const struct rp_row_code_object *row,
                             struct rp_err *err)
{
    return put(w, RP_ROWS_code_object, row, err);
}

int rp_store_put_kernel(struct rp_store_writer *w, const struct rp_row_kernel *row,
                        struct rp_err *err)
{
    return put(w, RP_ROWS_kernel, row, err);
}

int rp_store_put_dispatch(struct rp_store_writer *w, const struct rp_row_dispatch *row,
                          struct rp_err *err)
{
    return put(w, RP_ROWS_dispatch, row, err);
}

int rp_store_put_copy(struct rp_store_writer *w, const struct rp_row_copy *row, struct rp_err *err)
{
    return put(w, RP_ROWS_copy, row, err);
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

/* Into a table that comes with its first row. */
static int put_own(struct rp_store_writer *w, enum rp_rows rows, const void *row,
                   struct rp_err *err)
{
    int result = 0;

    if (!w->insert[rows]) {
        result = rp_schema_create_own(w->db, rp_specs[rows].table, w->guid, err);
        if (result == 0)
            result = prepare_rows(w, rows, err);
    }
    return result < 0 ? result : put(w, rows, row, err);
}

int rp_store_put_dependency(struct rp_store_writer *w, const struct rp_row_dependency *row,
                            struct rp_err *err)
{
    return put_own(w, RP_ROWS_dependency, row, err);
}

int rp_store_put_replay(struct rp_store_writer *w, const struct rp_row_replay *row,
                        struct rp_err *err)
{
    return put_own(w, RP_ROWS_replay, row, err);
}

/* --- completion --------------------------------------------------------------------------- */

/* Names as rocprofv3 gives them: queue 1 is "Queue 0", stream 1 is "Stream 1". */
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
    rp_autofree int64_t *ids = rp_idset_missing(&w->ids[spec->table], &count);

    if (!ids)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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

int rp_writer_complete(struct rp_store_writer *w, struct rp_err *err)
{
    int result = 0;

    if (!w->process_known)
        return rp_fail(err, RP_BAD_INPUT, "there is no process row");
    for (int r = 0; r < RP_ROWS_COUNT && result == 0; r++)
        if (!rp_specs[r].read_only)
            result = complete_rows(w, (enum rp_rows)r, err);
    return result;
}
