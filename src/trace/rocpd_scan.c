/* A scan is one pass of SELECT over the relations of a table. Columns are found by name, so that
 * neither their order nor later additions matter. The callers join, on (guid, id), because some
 * databases lack the rows that rocpd's own views join with.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "base/work_progress.h"
#include "trace/rocpd_read.h"
#include "trace/rocpd_schema.h"

/* A statement may take this many units of RP_STEP_OPS virtual machine steps plus one for every
 * RP_STEP_BYTES of the file: a table scan needs two steps for each value. What needs more is a
 * schema made to keep its reader busy. */
enum { RP_STEP_OPS = 1000, RP_STEP_BASE = 1000, RP_STEP_BYTES = 64 };

#define TAKE "rocm_perf_take"

static int spend_step(void *ctx)
{
    struct rp_store *s = ctx;

    if (s->steps_left == 0)
        return 1;
    s->steps_left--;
    return 0;
}

static int fail_query(struct rp_store *s, int result, struct rp_err *err)
{
    if ((result & 0xff) == SQLITE_INTERRUPT)
        return rp_fail(err, RP_BAD_INPUT,
                       "reading takes more work than a database of its size can");
    return rp_sql_fail(s->db, result, err);
}

static int no_memory(struct rp_store *s, struct rp_err *err)
{
    if (s->text.used_bytes >= s->text.limit_bytes / 2)
        return rp_fail(err, RP_BAD_INPUT, "it gives more text than a database of its size can");
    return rp_out_of_memory(err);
}

/* --- guids -------------------------------------------------------------------------------- */

static int guid_index(struct rp_store *s, const char *guid, size_t len, uint32_t *ret,
                      struct rp_err *err)
{
    const char *copy;

    for (uint32_t i = s->guid_count; i-- > 0;)
        if (strlen(s->guids[i]) == len && memcmp(s->guids[i], guid, len) == 0) {
            *ret = i;
            return 0;
        }
    if (s->guid_count == RP_MAX_GUIDS)
        return rp_fail(err, RP_BAD_INPUT, "it holds more than %d processes", RP_MAX_GUIDS);
    copy = rp_string_pool_add(&s->text, guid, len);
    if (!copy)
        return no_memory(s, err);
    s->guids[s->guid_count] = copy;
    *ret = s->guid_count++;
    return 0;
}

/* Returns the guid of a suffixed table: the part after its name, with dashes. */
static int guid_of_relation(struct rp_store *s, enum rp_table table, const char *relation,
                            uint32_t *ret, struct rp_err *err)
{
    char guid[RP_GUID_BYTES];

    snprintf(guid, sizeof guid, "%s", relation + strlen(rp_table_name(table)) + 1);
    for (char *at = guid; *at; at++)
        *at = *at == '_' ? '-' : *at;
    return guid_index(s, guid, strlen(guid), ret, err);
}

/* --- a pass over one relation ------------------------------------------------------------- */

/* This says where the columns of a relation are. In drafts of schema 4 an activity refers to a
 * track, which gives thread, agent, queue and stream, and to two timestamps.
 */
struct sources {
    const char *relation;
    sqlite3_stmt *columns, *track; /**< without rows: for the names of their columns */
    const char *tracks, *times;    /**< relations; NULL: there are none */
    bool join_track, join_start, join_end;
};

static bool has(sqlite3_stmt *columns, const char *name)
{
    return columns && rp_column_at(columns, name) >= 0;
}

/* Returns the relation of another table that belongs to this one: that of the same process, or the
 * union.
 */
static const char *partner(const struct rp_store *s, enum rp_table own, const char *relation,
                           enum rp_table other)
{
    const struct rp_relations *r = &s->tables[other];
    const char *suffix = relation + strlen(rp_table_name(own));

    for (size_t i = 0; i < r->count; i++)
        if (!r->suffixed || strcmp(r->names[i] + strlen(rp_table_name(other)), suffix) == 0)
            return r->names[i];
    return NULL;
}

/* Adds an expression for the column. @return false when the database does not have it */
static bool add_column(struct sources *from, enum rp_table table, const char *name,
                       struct rp_buf *sql)
{
    bool is_start = strcmp(name, "start") == 0, is_end = strcmp(name, "end") == 0;

    /* In schema 4 the former name is the generic one, and the name is the user's own. */
    if (table == RP_TABLE_info_agent && has(from->columns, "generic_name") &&
        strcmp(name, "name") == 0) {
        rp_buf_puts(sql, "COALESCE(NULLIF(r.\"generic_name\", ''), r.\"name\")");
    } else if (has(from->columns, name)) {
        rp_buf_printf(sql, "r.\"%s\"", name);
    } else if (has(from->columns, "track_id") && has(from->track, name)) {
        rp_buf_printf(sql, "t.\"%s\"", name);
        from->join_track = true;
    } else if (is_start && from->times && has(from->columns, "start_id")) {
        rp_buf_puts(sql, "b.\"value\"");
        from->join_start = true;
    } else if (is_end && from->times && has(from->columns, "end_id")) {
        rp_buf_puts(sql, "e.\"value\"");
        from->join_end = true;
    } else {
        return false;
    }
    return true;
}

static void add_join(const struct sources *from, const char *relation, const char *alias,
                     const char *key, struct rp_buf *sql)
{
    rp_buf_printf(sql, " LEFT JOIN \"%s\" AS %s ON %s.\"id\" = r.\"%s\"", relation, alias, alias,
                  key);
    if (has(from->columns, "guid"))
        rp_buf_printf(sql, " AND %s.\"guid\" = r.\"guid\"", alias);
}

/* Writes a SELECT of exactly the wanted columns that exist. */
static int write_select(struct rp_table_scan *pass, struct sources *from, struct rp_buf *sql,
                        struct rp_err *err)
{
    int next = 0;

    rp_buf_puts(sql, "SELECT " TAKE "(");
    for (size_t i = 0; i < pass->column_count; i++) {
        size_t before = sql->len;
        if (next)
            rp_buf_puts(sql, ", ");
        pass->at[i] = -1;
        if (add_column(from, pass->table, pass->columns[i], sql))
            pass->at[i] = next++;
        else if (!sql->failed)
            sql->data[sql->len = before] = '\0';
    }
    pass->guid_at = has(from->columns, "guid") ? next : -1;
    if (pass->guid_at >= 0)
        rp_buf_printf(sql, "%sr.\"guid\"", next++ ? ", " : "");
    pass->value_count = next ? next : 1;
    rp_buf_printf(sql, "%s) FROM \"%s\" AS r", next ? "" : "1", from->relation);
    if (from->join_track)
        add_join(from, from->tracks, "t", "track_id", sql);
    if (from->join_start)
        add_join(from, from->times, "b", "start_id", sql);
    if (from->join_end)
        add_join(from, from->times, "e", "end_id", sql);
    return sql->failed ? rp_out_of_memory(err) : 0;
}

static int prepare_pass(struct rp_table_scan *pass, const char *relation, struct rp_err *err)
{
    rp_autostmt *all = NULL, *track = NULL;
    rp_autobuf sql = {0};
    struct rp_store *s = pass->store;
    struct sources from = {.relation = relation,
                           .tracks = partner(s, pass->table, relation, RP_TABLE_track),
                           .times = partner(s, pass->table, relation, RP_TABLE_timestamp)};
    int result = rp_relation_columns(s->db, relation, &all, err);

    if (result < 0)
        return result;
    if (!all)
        return rp_fail(err, RP_BAD_INPUT, "table %s cannot be read: %s", rp_table_name(pass->table),
                       sqlite3_errmsg(s->db));
    if (from.tracks)
        result = rp_relation_columns(s->db, from.tracks, &track, err);
    from.columns = all;
    from.track = track;
    if (result == 0)
        result = write_select(pass, &from, &sql, err);
    if (result < 0)
        return result;
    result = sqlite3_prepare_v2(s->db, sql.data, -1, &pass->stmt, NULL);
    return result == SQLITE_OK ? 0 : rp_sql_fail(s->db, result, err);
}

/* --- rows --------------------------------------------------------------------------------- */

static struct rp_cell cell_of(sqlite3_value *value)
{
    struct rp_cell cell = {.type = RP_CELL_NULL};

    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        cell.type = RP_CELL_INTEGER;
        cell.number = sqlite3_value_int64(value);
        break;
    case SQLITE_FLOAT:
        cell.type = RP_CELL_REAL;
        cell.real = sqlite3_value_double(value);
        break;
    case SQLITE_TEXT:
    case SQLITE_BLOB: /* Reading the length may change the value to UTF-8. */
        cell.type = RP_CELL_TEXT;
        cell.bytes = sqlite3_value_text(value);
        cell.len = (uint32_t)sqlite3_value_bytes(value);
        break;
    default:
        break;
    }
    return cell;
}

/* Returns a value of the row. */
static inline struct rp_cell value_at(const struct rp_table_scan *pass, int at)
{
    return at < 0        ? (struct rp_cell){.type = RP_CELL_NULL}
           : pass->cells ? pass->cells[at]
                         : cell_of(pass->values[at]);
}

enum { NUMBER_CHARS = 32 };

/* Returns the text of a value that is not NULL. The text of a number is written to @p room, as
 * SQLite would write it.
 */
static const char *text_of(const struct rp_cell *cell, char *room, size_t *ret_len)
{
    if (cell->type == RP_CELL_TEXT) {
        *ret_len = cell->len;
        return (const char *)cell->bytes;
    }
    if (cell->type == RP_CELL_INTEGER)
        sqlite3_snprintf(NUMBER_CHARS, room, "%lld", (long long)cell->number);
    else
        sqlite3_snprintf(NUMBER_CHARS, room, "%!.15g", cell->real);
    *ret_len = strlen(room);
    return room;
}

static int guid_of_row(struct rp_table_scan *pass, uint32_t *ret, struct rp_err *err)
{
    struct rp_cell cell = value_at(pass, pass->guid_at);
    char room[NUMBER_CHARS];
    const char *guid = "";
    size_t len = 0;
    int result;

    if (cell.type != RP_CELL_NULL)
        guid = text_of(&cell, room, &len);
    if (!guid)
        return rp_out_of_memory(err);
    /* The guid is nearly always that of the row before, so it is compared first. */
    if (pass->guid_known && len == pass->guid_len && memcmp(guid, pass->guid_bytes, len) == 0) {
        *ret = pass->guid;
        return 0;
    }
    result = guid_index(pass->store, guid, len, &pass->guid, err);
    pass->guid_known = len <= sizeof pass->guid_bytes;
    if (pass->guid_known)
        memcpy(pass->guid_bytes, guid, len);
    pass->guid_len = len;
    *ret = pass->guid;
    return result;
}

static int give_row(struct rp_table_scan *pass)
{
    uint32_t guid = pass->guid;
    int result = pass->guid_at < 0 ? 0 : guid_of_row(pass, &guid, pass->err);

    pass->lent_used = 0;
    return result < 0 ? result : pass->on_row(pass, guid, pass->ctx, pass->err);
}

/*
 * Rows come as calls of an aggregate function, within one sqlite3_step: a row of a step of its own,
 * its values asked for one by one, takes half as long again.
 */
static void take_row(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct rp_store *s = sqlite3_user_data(context);
    struct rp_table_scan *pass = s->pass;

    if (!pass ||
        count != pass->value_count) { /* A view called it, which SQLite before 3.30 allows. */
        sqlite3_result_error_code(context, SQLITE_ABORT);
        return;
    }
    if (pass->skip) {
        pass->skip--;
        return;
    }
    pass->values = values;
    pass->failed = give_row(pass);
    if (pass->failed < 0)
        sqlite3_result_error_code(context, SQLITE_ABORT);
}

static void take_nothing(sqlite3_context *context)
{
    sqlite3_result_null(context);
}

/* Only our own statements may call the function: a schema that names it is refused. */
int rp_table_scan_prepare(struct rp_store *s, struct rp_err *err)
{
    int result = sqlite3_create_function_v2(s->db, TAKE, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, s,
                                            NULL, take_row, take_nothing, NULL);

    return result == SQLITE_OK ? 0 : rp_sql_fail(s->db, result, err);
}

static int run_whole(struct rp_table_scan *pass)
{
    struct rp_store *s = pass->store;
    struct rp_table_scan *outer = s->pass;
    int result;

    s->steps_left = RP_STEP_BASE + s->size_bytes / RP_STEP_BYTES;
    s->pass = pass;
    while ((result = sqlite3_step(pass->stmt)) == SQLITE_ROW)
        ; /* This message says nothing. */
    s->pass = outer;
    if (pass->failed < 0)
        return pass->failed;
    return result == SQLITE_DONE ? 0 : fail_query(s, result, pass->err);
}

/* Reports progress by the file's bytes, because SQLite knows the number of rows only after
 * counting them.
 */
static void tell(struct rp_table_scan *pass)
{
    enum { ROWS = 4096 };
    const struct rp_store *s = pass->store;
    const double read = (double)(s->pages_read + pass->scan->pages_read);

    if (!s->work || ++pass->rows_since_report < ROWS)
        return;
    pass->rows_since_report = 0;
    rp_work_at(s->work, RP_WORK_READ,
               read < pass->scan->page_count ? read / pass->scan->page_count : 1);
}

static int take_cells(void *ctx, const struct rp_cell *cells)
{
    struct rp_table_scan *pass = ctx;

    tell(pass);
    pass->cells = cells;
    return pass->failed = give_row(pass);
}

/* Hands over the rows that can be read without SQLite, which are nearly always all. SQLite reads
 * the remaining ones and reports their errors; the rows that were handed over are skipped.
 */
static bool run_fast(struct rp_table_scan *pass)
{
    struct rp_pages_scan scan = {.fn = take_cells, .ctx = pass};

    pass->scan = &scan;
    rp_pages_scan(pass->store->db, sqlite3_sql(pass->stmt), TAKE, &scan);
    pass->store->pages_read += scan.pages_read;
    pass->skip = scan.rows;
    pass->cells = NULL;
    pass->scan = NULL;
    return scan.is_all || pass->failed < 0;
}

static int run_pass(struct rp_table_scan *pass)
{
    int result;

    if (!pass->keep_texts) { /* No text is longer than the page that it comes from. */
        pass->lent_room = pass->column_count * (RP_LARGEST_PAGE_BYTES + NUMBER_CHARS);
        pass->lent = malloc(pass->lent_room);
        if (!pass->lent)
            return rp_out_of_memory(pass->err);
    }
    result = run_fast(pass) ? pass->failed : run_whole(pass);
    free(pass->lent);
    return result;
}

/* Chooses the guid of rows without a guid column. */
static int choose_guid(struct rp_table_scan *pass, const char *relation, struct rp_err *err)
{
    struct rp_store *s = pass->store;
    enum rp_table table = pass->table;

    if (pass->guid_at >= 0 || table == RP_TABLE_metadata)
        return 0;
    if (s->tables[table].suffixed)
        return guid_of_relation(s, table, relation, &pass->guid, err);
    if (s->guid_count > 1)
        return rp_fail(err, RP_BAD_INPUT, "table %s has no column guid", rp_table_name(table));
    return s->guid_count ? 0 : guid_index(s, "", 0, &pass->guid, err);
}

int rp_table_scan_each(struct rp_store *s, const struct rp_table_scan_request *order,
                       rp_table_scan_fn *on_row, void *ctx, struct rp_err *err)
{
    const struct rp_relations *r = &s->tables[order->table];
    int result = 0;

    sqlite3_progress_handler(s->db, RP_STEP_OPS, spend_step, s);
    for (size_t i = 0; i < r->count && result == 0; i++) {
        struct rp_table_scan pass = {.store = s,
                                     .table = order->table,
                                     .columns = order->columns,
                                     .column_count = order->column_count,
                                     .keep_texts = order->keep_texts,
                                     .on_row = on_row,
                                     .ctx = ctx,
                                     .err = err};
        s->steps_left = RP_STEP_BASE;
        result = prepare_pass(&pass, r->names[i], err);
        for (size_t c = 0; c < order->column_count && result == 0; c++)
            if (pass.at[c] < 0 && order->required && order->required[c])
                result = rp_fail(err, RP_BAD_INPUT, "table %s has no column %s",
                                 rp_table_name(order->table), order->columns[c]);
        if (result == 0)
            result = choose_guid(&pass, r->names[i], err);
        if (result == 0)
            result = run_pass(&pass);
        sqlite3_finalize(pass.stmt);
    }
    sqlite3_progress_handler(s->db, 0, NULL, NULL);
    return result;
}

/* --- values ------------------------------------------------------------------------------- */

static int not_a_number(const struct rp_table_scan *pass, size_t column, struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT, "table %s: column %s holds a text where a number belongs",
                   rp_table_name(pass->table), pass->columns[column]);
}

/* Rounds towards zero, as SQLite does. */
static int64_t whole(double real)
{
    const double limit = 9223372036854775808.0; /* 2^63 */

    return real >= limit ? INT64_MAX : real <= -limit ? INT64_MIN : (int64_t)real;
}

int rp_table_scan_any_number(struct rp_table_scan *pass, size_t column, int64_t if_null,
                             int64_t *ret, struct rp_err *err)
{
    struct rp_cell cell = value_at(pass, pass->at[column]);

    switch (cell.type) {
    case RP_CELL_NULL:
        *ret = if_null;
        return 0;
    case RP_CELL_INTEGER:
        *ret = cell.number;
        return 0;
    case RP_CELL_REAL:
        *ret = whole(cell.real);
        return 0;
    case RP_CELL_TEXT:
        break;
    }
    return not_a_number(pass, column, err);
}

int rp_table_scan_real(struct rp_table_scan *pass, size_t column, double *ret, struct rp_err *err)
{
    struct rp_cell cell = value_at(pass, pass->at[column]);

    switch (cell.type) {
    case RP_CELL_NULL:
        *ret = 0;
        return 0;
    case RP_CELL_INTEGER:
        *ret = (double)cell.number;
        return 0;
    case RP_CELL_REAL:
        *ret = cell.real;
        return 0;
    case RP_CELL_TEXT:
        break;
    }
    return not_a_number(pass, column, err);
}

/* Lends a text until the next row, with a zero behind it as SQLite's texts have. */
static const char *lend(struct rp_table_scan *pass, const char *text, size_t len)
{
    char *copy = pass->lent + pass->lent_used;

    if (len >= pass->lent_room - pass->lent_used)
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    pass->lent_used += len + 1;
    return copy;
}

int rp_table_scan_text(struct rp_table_scan *pass, size_t column, const char *if_null,
                       const char **ret, struct rp_err *err)
{
    struct rp_cell cell = value_at(pass, pass->at[column]);
    char room[NUMBER_CHARS];
    const char *text = if_null;
    size_t len;

    if (cell.type != RP_CELL_NULL) {
        text = text_of(&cell, room, &len);
        if (!text)
            return rp_out_of_memory(err);
        if (pass->keep_texts)
            text = rp_string_pool_add(&pass->store->text, text, len);
        else if (pass->cells || text == room)
            text = lend(pass, text, len);
    }
    *ret = text;
    return text ? 0 : no_memory(pass->store, err);
}

struct rp_event_run {
    int64_t base; /**< first id */
    size_t at, count;
    uint32_t guid_index;
};

struct rp_event_odd {
    int64_t id;
    struct rp_event event;
    uint32_t guid_index;
};

enum { MAX_RUNS = 1 << 16 };

static bool fits(int64_t number)
{
    return number >= 0 && number <= UINT32_MAX;
}

static bool add_number(struct rp_events *e, const struct rp_event *event)
{
    return rp_vec_push(&e->numbers, (struct rp_event_numbers){.call = (uint32_t)event->call,
                                                              .parent = (uint32_t)event->parent}) ==
           0;
}

static bool add_odd(struct rp_events *e, uint32_t guid, int64_t id, struct rp_event event)
{
    struct rp_event_odd *slot = rp_array_add(&e->odd, &e->odd_count);

    if (slot)
        *slot = (struct rp_event_odd){.id = id, .event = event, .guid_index = guid};
    return slot != NULL;
}

static bool add(struct rp_events *e, uint32_t guid, int64_t id, const struct rp_event *event)
{
    struct rp_event_run *run = e->run_count ? &e->runs[e->run_count - 1] : NULL;

    if (!fits(event->call) || !fits(event->parent))
        return add_odd(e, guid, id, *event);
    if (!run || run->guid_index != guid || id < run->base ||
        (uint64_t)(id - run->base) != run->count) {
        if (e->run_count == MAX_RUNS)
            return add_odd(e, guid, id, *event);
        run = rp_array_add(&e->runs, &e->run_count);
        if (!run)
            return false;
        *run = (struct rp_event_run){.base = id, .at = e->numbers.count, .guid_index = guid};
    }
    run->count++;
    return add_number(e, event);
}

static int add_row(struct rp_table_scan *pass, uint32_t guid, void *ctx, struct rp_err *err)
{
    struct rp_event event;
    int64_t id;
    int result = rp_table_scan_number(pass, 0, 0, &id, err);

    if (result == 0)
        result = rp_table_scan_number(pass, 1, 0, &event.call, err);
    if (result == 0)
        result = rp_table_scan_number(pass, 2, 0, &event.parent, err);
    if (result < 0)
        return result;
    if (event.call == 0) /* Some traces name the launching call only as the parent. */
        event.call = event.parent;
    return add(ctx, guid, id, &event) ? 0 : rp_out_of_memory(err);
}

/* --- order -------------------------------------------------------------------------------- */

static int run_order(const void *a, const void *b)
{
    const struct rp_event_run *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    return (x->base > y->base) - (x->base < y->base);
}

static int odd_order(const void *a, const void *b)
{
    const struct rp_event_odd *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Ids that come twice make runs that cannot be searched, so they are sorted one by one. */
static bool dissolve_runs(struct rp_events *e)
{
    for (size_t r = 0; r < e->run_count; r++)
        for (size_t i = 0; i < e->runs[r].count; i++) {
            size_t at = e->runs[r].at + i;
            struct rp_event event = {e->numbers.items[at].call, e->numbers.items[at].parent};
            if (!add_odd(e, e->runs[r].guid_index, e->runs[r].base + (int64_t)i, event))
                return false;
        }
    e->run_count = 0;
    return true;
}

static bool settle(struct rp_events *e)
{
    bool apart = true;

    if (e->run_count)
        qsort(e->runs, e->run_count, sizeof *e->runs, run_order);
    for (size_t i = 1; i < e->run_count; i++) {
        const struct rp_event_run *a = &e->runs[i - 1], *b = &e->runs[i];
        apart &= a->guid_index != b->guid_index || (uint64_t)(b->base - a->base) >= a->count;
    }
    if (!apart && !dissolve_runs(e))
        return false;
    if (e->odd_count)
        qsort(e->odd, e->odd_count, sizeof *e->odd, odd_order);
    return true;
}

int rp_events_load(struct rp_store *s, struct rp_err *err)
{
    static const char *const columns[] = {"id", "stack_id", "parent_stack_id"};
    static const bool required[] = {true, false, false};
    const struct rp_table_scan_request order = {
        .table = RP_TABLE_event, .columns = columns, .column_count = 3, .required = required};
    int result = s->events.loaded ? 0 : rp_table_scan_each(s, &order, add_row, &s->events, err);

    if (result == 0 && !s->events.loaded && !settle(&s->events))
        result = rp_out_of_memory(err);
    if (result < 0)
        rp_events_free(&s->events);
    else
        s->events.loaded = true;
    return result;
}

/* --- finding ------------------------------------------------------------------------------ */

static bool is_in(const struct rp_event_run *run, uint32_t guid, int64_t id)
{
    return run->guid_index == guid && id >= run->base && (uint64_t)(id - run->base) < run->count;
}

/* The run that may hold the id: the last that does not begin behind it. */
static size_t find_run(const struct rp_events *e, uint32_t guid, int64_t id)
{
    const struct rp_event_run key = {.base = id, .guid_index = guid};
    size_t low = 0, high = e->run_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (run_order(&e->runs[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

bool rp_events_find(struct rp_events *e, uint32_t guid, int64_t id, struct rp_event *ret)
{
    const struct rp_event_odd key = {.id = id, .guid_index = guid}, *odd;

    if (e->run_count && !is_in(&e->runs[e->last_run], guid, id))
        e->last_run = find_run(e, guid, id);
    if (e->run_count && is_in(&e->runs[e->last_run], guid, id)) {
        size_t at = e->runs[e->last_run].at + (size_t)(id - e->runs[e->last_run].base);
        *ret = (struct rp_event){e->numbers.items[at].call, e->numbers.items[at].parent};
        return true;
    }
    odd = e->odd_count ? bsearch(&key, e->odd, e->odd_count, sizeof key, odd_order) : NULL;
    if (odd)
        *ret = odd->event;
    return odd != NULL;
}

void rp_events_free(struct rp_events *events)
{
    free(events->runs);
    rp_vec_free(&events->numbers);
    free(events->odd);
    *events = (struct rp_events){0};
}
