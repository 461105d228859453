#include "store/reader.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "rocm-perf/store.h"
#include "store/sqlerr.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * One pass of SELECT over the relations of a table. Columns are found by name, so that neither
 * their order nor later additions matter; joins are done here, on (guid, id), because some
 * databases lack the rows that rocpd's own views join with.
 */

/* A statement may take this many units of RP_STEP_OPS virtual machine steps plus one for every
 * RP_STEP_BYTES of the file: a table scan needs two steps for each value. What needs more is a
 * schema made to keep its reader busy. */
enum { RP_STEP_OPS = 1000, RP_STEP_BASE = 1000, RP_STEP_BYTES = 64 };

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
    return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
    copy = rp_text_add(&s->text, guid, len);
    if (!copy)
        return no_memory(s, err);
    s->guids[s->guid_count] = copy;
    *ret = s->guid_count++;
    return 0;
}

/* Guid of a suffixed table: the part after its name, with dashes. */
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

enum { MAX_COLUMNS = 32 };

struct pass {
    struct rp_store *store;
    enum rp_table table;
    const char *const *columns;
    size_t column_count;
    sqlite3_stmt *stmt;
    int at[MAX_COLUMNS]; /* result column of each wanted column, -1 if the relation lacks it */
    int guid_at;
    uint32_t guid; /* of all rows when there is no guid column */
};

typedef int row_fn(struct pass *pass, uint32_t guid, void *ctx, struct rp_err *err);

/* SELECT of exactly the wanted columns that exist. */
static int prepare_pass(struct pass *pass, const char *relation, struct rp_err *err)
{
    rp_autostmt *all = NULL;
    rp_autobuf sql = {0};
    int next = 0, result = rp_relation_columns(pass->store->db, relation, &all, err);

    if (result < 0)
        return result;
    if (!all)
        return rp_fail(err, RP_BAD_INPUT, "table %s cannot be read: %s", rp_table_name(pass->table),
                       sqlite3_errmsg(pass->store->db));
    rp_buf_puts(&sql, "SELECT ");
    for (size_t i = 0; i < pass->column_count; i++) {
        pass->at[i] = rp_column_at(all, pass->columns[i]) < 0 ? -1 : next;
        if (pass->at[i] >= 0)
            rp_buf_printf(&sql, "%s\"%s\"", next++ ? ", " : "", pass->columns[i]);
    }
    pass->guid_at = rp_column_at(all, "guid") < 0 ? -1 : next;
    if (pass->guid_at >= 0)
        rp_buf_printf(&sql, "%s\"guid\"", next++ ? ", " : "");
    rp_buf_printf(&sql, "%s FROM \"%s\"", next ? "" : "1", relation);
    if (sql.failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    result = sqlite3_prepare_v2(pass->store->db, sql.data, -1, &pass->stmt, NULL);
    return result == SQLITE_OK ? 0 : rp_sql_fail(pass->store->db, result, err);
}

static int guid_of_row(struct pass *pass, uint32_t *ret, struct rp_err *err)
{
    const char *guid;

    if (pass->guid_at < 0) {
        *ret = pass->guid;
        return 0;
    }
    guid = (const char *)sqlite3_column_text(pass->stmt, pass->guid_at);
    return guid_index(pass->store, guid ? guid : "",
                      (size_t)sqlite3_column_bytes(pass->stmt, pass->guid_at), ret, err);
}

static int run_pass(struct pass *pass, row_fn *on_row, void *ctx, struct rp_err *err)
{
    struct rp_store *s = pass->store;
    int result;

    s->steps_left = RP_STEP_BASE + s->size_bytes / RP_STEP_BYTES;
    while ((result = sqlite3_step(pass->stmt)) == SQLITE_ROW) {
        uint32_t guid;
        int failed = guid_of_row(pass, &guid, err);
        if (failed == 0)
            failed = on_row(pass, guid, ctx, err);
        if (failed < 0)
            return failed;
    }
    return result == SQLITE_DONE ? 0 : fail_query(s, result, err);
}

/* Which guid do rows without a guid column have? */
static int settle_guid(struct pass *pass, const char *relation, struct rp_err *err)
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

static int for_each_row(struct rp_store *s, enum rp_table table, const char *const *columns,
                        size_t count, const bool *required, row_fn *on_row, void *ctx,
                        struct rp_err *err)
{
    const struct rp_relations *r = &s->tables[table];
    int result = 0;

    sqlite3_progress_handler(s->db, RP_STEP_OPS, spend_step, s);
    for (size_t i = 0; i < r->count && result == 0; i++) {
        struct pass pass = {.store = s, .table = table, .columns = columns, .column_count = count};
        s->steps_left = RP_STEP_BASE;
        result = prepare_pass(&pass, r->names[i], err);
        for (size_t c = 0; c < count && result == 0; c++)
            if (pass.at[c] < 0 && required && required[c])
                result = rp_fail(err, RP_BAD_INPUT, "table %s has no column %s",
                                 rp_table_name(table), columns[c]);
        if (result == 0)
            result = settle_guid(&pass, r->names[i], err);
        if (result == 0)
            result = run_pass(&pass, on_row, ctx, err);
        sqlite3_finalize(pass.stmt);
    }
    sqlite3_progress_handler(s->db, 0, NULL, NULL);
    return result;
}

/* --- values ------------------------------------------------------------------------------- */

/* Numbers must be numbers: a text in their place would silently become 0. */
static int get_number(struct pass *pass, size_t column, int64_t if_null, int64_t *ret,
                      struct rp_err *err)
{
    int at = pass->at[column];

    switch (at < 0 ? SQLITE_NULL : sqlite3_column_type(pass->stmt, at)) {
    case SQLITE_NULL:
        *ret = if_null;
        return 0;
    case SQLITE_INTEGER:
    case SQLITE_FLOAT:
        *ret = sqlite3_column_int64(pass->stmt, at);
        return 0;
    default:
        return rp_fail(err, RP_BAD_INPUT, "table %s: column %s holds a text where a number belongs",
                       rp_table_name(pass->table), pass->columns[column]);
    }
}

static int get_real(struct pass *pass, size_t column, double *ret, struct rp_err *err)
{
    int64_t checked; /* that it is a number */
    int result = get_number(pass, column, 0, &checked, err);

    if (result == 0)
        *ret = pass->at[column] < 0 ? 0 : sqlite3_column_double(pass->stmt, pass->at[column]);
    return result;
}

static int get_text(struct pass *pass, size_t column, const char *if_null, const char **ret,
                    struct rp_err *err)
{
    int at = pass->at[column];
    const char *text = at < 0 ? NULL : (const char *)sqlite3_column_text(pass->stmt, at);

    if (!text && at >= 0 && sqlite3_column_type(pass->stmt, at) != SQLITE_NULL &&
        sqlite3_errcode(pass->store->db) == SQLITE_NOMEM)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    *ret = text
               ? rp_text_add(&pass->store->text, text, (size_t)sqlite3_column_bytes(pass->stmt, at))
               : if_null;
    return *ret ? 0 : no_memory(pass->store, err);
}

/* --- strings and events ------------------------------------------------------------------- */

static int by_guid_and_id(const void *a, const void *b)
{
    const struct rp_keyed *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static const struct rp_keyed *look_up(const struct rp_lookup *table, uint32_t guid, int64_t id)
{
    struct rp_keyed key = {.id = id, .guid_index = guid};

    /* Ids of one process usually count up without a gap. */
    if (table->count && id >= table->rows[0].id &&
        (uint64_t)(id - table->rows[0].id) < table->count) {
        const struct rp_keyed *guess = &table->rows[id - table->rows[0].id];
        if (guess->id == id && guess->guid_index == guid)
            return guess;
    }
    return table->count ? bsearch(&key, table->rows, table->count, sizeof key, by_guid_and_id)
                        : NULL;
}

/* Room for one more element; the capacity is the next power of two. */
static void *next_slot(void **rows, size_t *count, size_t row_bytes)
{
    size_t n = *count;

    if ((n & (n - 1)) == 0) {
        void *grown = realloc(*rows, (n ? n * 2 : 1) * row_bytes);
        if (!grown)
            return NULL;
        *rows = grown;
    }
    (*count)++;
    return (char *)*rows + n * row_bytes;
}

static int add_keyed(struct pass *pass, uint32_t guid, void *ctx, struct rp_err *err)
{
    struct rp_lookup *table = ctx;
    struct rp_keyed row = {.guid_index = guid}, *slot;
    int result = get_number(pass, 0, 0, &row.id, err);

    if (result == 0 && table == &pass->store->strings)
        result = get_text(pass, 1, "", &row.value.text, err);
    else if (result == 0)
        result = get_number(pass, 1, 0, &row.value.number, err);
    /* Some traces name the launching call only as the parent. */
    if (result == 0 && table == &pass->store->events)
        result = get_number(pass, 2, 0, &row.parent, err);
    if (row.value.number == 0 && table == &pass->store->events)
        row.value.number = row.parent;
    if (result < 0)
        return result;
    slot = next_slot((void **)&table->rows, &table->count, sizeof row);
    if (!slot)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    *slot = row;
    return 0;
}

static int load_lookup(struct rp_store *s, enum rp_table from, struct rp_lookup *table,
                       struct rp_err *err)
{
    static const char *const string_columns[] = {"id", "string"};
    static const char *const event_columns[] = {"id", "stack_id", "parent_stack_id"};
    static const bool both[] = {true, true}, first[] = {true, false, false};
    bool strings = from == RP_TABLE_string;
    int result;

    if (table->loaded)
        return 0;
    result = for_each_row(s, from, strings ? string_columns : event_columns, strings ? 2 : 3,
                          strings ? both : first, add_keyed, table, err);
    if (result < 0) {
        free(table->rows);
        *table = (struct rp_lookup){0};
        return result;
    }
    if (table->count)
        qsort(table->rows, table->count, sizeof *table->rows, by_guid_and_id);
    table->loaded = true;
    return 0;
}

/* --- rows --------------------------------------------------------------------------------- */

static int load_string(struct pass *pass, size_t column, uint32_t guid, const char **ret,
                       struct rp_err *err)
{
    const struct rp_keyed *found;
    int64_t id;
    int result = get_number(pass, column, -1, &id, err);

    if (result < 0)
        return result;
    found = look_up(&pass->store->strings, guid, id);
    if (!found && id >= 0)
        return rp_fail(err, RP_BAD_INPUT, "table %s: string %" PRId64 " is missing",
                       rp_table_name(pass->table), id);
    *ret = found ? found->value.text : "";
    return 0;
}

static int load_event(struct pass *pass, size_t column, uint32_t guid, int64_t *ret,
                      struct rp_err *err)
{
    const struct rp_keyed *found;
    int64_t id;
    int result = get_number(pass, column, -1, &id, err);

    if (result < 0)
        return result;
    found = look_up(&pass->store->events, guid, id);
    *ret = found ? found->value.number : 0;
    return 0;
}

static int load_event_both(struct pass *pass, size_t column, uint32_t guid, int64_t ret[2],
                           struct rp_err *err)
{
    int result = get_number(pass, column, -1, &ret[1], err);

    return result < 0 ? result : load_event(pass, column, guid, &ret[0], err);
}

/* A region's event: its id, which arguments refer to, and what it says. */
static int load_event_row(struct pass *pass, size_t column, uint32_t guid, int64_t ret[3],
                          struct rp_err *err)
{
    int result = get_number(pass, column, -1, &ret[0], err);
    const struct rp_keyed *found = result < 0 ? NULL : look_up(&pass->store->events, guid, ret[0]);

    ret[1] = found ? found->value.number : 0;
    ret[2] = found ? found->parent : 0;
    return result;
}

static int load_word(struct pass *pass, size_t column, enum rp_kind kind, void *field)
{
    int at = pass->at[column];
    const char *word = at < 0 ? NULL : (const char *)sqlite3_column_text(pass->stmt, at);

    if (kind == RP_KIND_TYPE) {
        *(bool *)field = word && strcmp(word, "GPU") == 0;
    } else {
        bool *known = field; /* storage_known, then storage_is_file */
        known[1] = word && strcmp(word, "FILE") == 0;
        known[0] = known[1] || (word && strcmp(word, "MEMORY") == 0);
    }
    return 0;
}

static int load_column(struct pass *pass, size_t i, enum rp_kind kind, uint32_t guid, void *field,
                       struct rp_err *err)
{
    switch (kind) {
    case RP_KIND_ID:
    case RP_KIND_INT:
    case RP_KIND_TIME:
    case RP_KIND_THREAD:
        return get_number(pass, i, 0, field, err);
    case RP_KIND_REAL:
        return get_real(pass, i, field, err);
    case RP_KIND_REF:
        return get_number(pass, i, -1, field, err);
    case RP_KIND_TEXT:
        return get_text(pass, i, "", field, err);
    case RP_KIND_JSON:
        return get_text(pass, i, "{}", field, err);
    case RP_KIND_STRING:
        return load_string(pass, i, guid, field, err);
    case RP_KIND_EVENT:
        return load_event(pass, i, guid, field, err);
    case RP_KIND_EVENT_BOTH:
        return load_event_both(pass, i, guid, field, err);
    case RP_KIND_EVENT_ROW:
        return load_event_row(pass, i, guid, field, err);
    case RP_KIND_TYPE:
    case RP_KIND_STORAGE:
        return load_word(pass, i, kind, field);
    case RP_KIND_NODE:
    case RP_KIND_PROCESS:
    case RP_KIND_PARENT:
    case RP_KIND_NO_REGION:
        return 0;
    }
    return 0;
}

struct load {
    const struct rp_spec *spec;
    struct rp_rowset set;
};

static int add_row(struct pass *pass, uint32_t guid, void *ctx, struct rp_err *err)
{
    struct load *load = ctx;
    const struct rp_spec *spec = load->spec;
    char *row = next_slot(&load->set.rows, &load->set.count, spec->row_bytes);

    if (!row)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    memset(row, 0, spec->row_bytes);
    memcpy(row + spec->guid_offset, &guid, sizeof guid);
    for (size_t i = 0; i < spec->column_count; i++) {
        const struct rp_column *column = &spec->columns[i];
        int result = load_column(pass, i, column->kind, guid, row + column->offset, err);
        if (result < 0)
            return result;
    }
    return 0;
}

/* --- order -------------------------------------------------------------------------------- */

struct order {
    size_t guid_offset, id_offset, time_offset;
    bool by_time;
};

static struct order order_of(const struct rp_spec *spec)
{
    struct order order = {.guid_offset = spec->guid_offset};

    for (size_t i = 0; i < spec->column_count; i++) {
        const struct rp_column *column = &spec->columns[i];
        if (column->kind == RP_KIND_ID ||
            (spec->table == RP_TABLE_info_process && strcmp(column->name, "pid") == 0))
            order.id_offset = column->offset;
        if (spec->numbered && strcmp(column->name, "start") == 0) {
            order.time_offset = column->offset;
            order.by_time = true;
        }
    }
    return order;
}

static int64_t number_at(const void *row, size_t offset)
{
    int64_t number;

    memcpy(&number, (const char *)row + offset, sizeof number);
    return number;
}

static uint32_t guid_at(const void *row, size_t offset)
{
    uint32_t guid;

    memcpy(&guid, (const char *)row + offset, sizeof guid);
    return guid;
}

static int in_order(const void *a, const void *b, void *ctx)
{
    const struct order *order = ctx;
    int64_t x, y;
    uint32_t g = guid_at(a, order->guid_offset), h = guid_at(b, order->guid_offset);

    if (order->by_time) {
        x = number_at(a, order->time_offset);
        y = number_at(b, order->time_offset);
        if (x != y)
            return x < y ? -1 : 1;
    }
    if (g != h)
        return g < h ? -1 : 1;
    x = number_at(a, order->id_offset);
    y = number_at(b, order->id_offset);
    return (x > y) - (x < y);
}

static bool is_in_order(const struct rp_rowset *set, size_t row_bytes, struct order *order)
{
    const char *rows = set->rows;

    for (size_t i = 1; i < set->count; i++)
        if (in_order(rows + (i - 1) * row_bytes, rows + i * row_bytes, order) > 0)
            return false;
    return true;
}

int rp_load_rows(struct rp_store *s, enum rp_rows rows, struct rp_err *err)
{
    struct load load = {.spec = &rp_specs[rows]};
    const struct rp_spec *spec = load.spec;
    const char *names[MAX_COLUMNS];
    bool required[MAX_COLUMNS];
    struct order order = order_of(spec);
    int result = 0;

    if (s->rows[rows].loaded)
        return 0;
    for (size_t i = 0; i < spec->column_count; i++) {
        names[i] = spec->columns[i].name;
        required[i] = spec->columns[i].required;
    }
    if (spec->category) {
        result = load_lookup(s, RP_TABLE_string, &s->strings, err);
        if (result == 0)
            result = load_lookup(s, RP_TABLE_event, &s->events, err);
    }
    if (result == 0)
        result =
            for_each_row(s, spec->table, names, spec->column_count, required, add_row, &load, err);
    if (result < 0) {
        free(load.set.rows);
        return rp_wrap(err, "read trace %s", s->path);
    }
    if (load.set.count && !is_in_order(&load.set, spec->row_bytes, &order))
        qsort_r(load.set.rows, load.set.count, spec->row_bytes, in_order, &order);
    s->rows[rows] = load.set;
    s->rows[rows].loaded = true;
    return 0;
}

const void *rp_find_row(const struct rp_store *s, enum rp_rows rows, uint32_t guid_wanted,
                        int64_t id)
{
    const struct rp_spec *spec = &rp_specs[rows];
    struct order order = order_of(spec);
    size_t low = 0, high = s->rows[rows].count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *row = (const char *)s->rows[rows].rows + middle * spec->row_bytes;
        uint32_t guid = guid_at(row, order.guid_offset);
        int64_t row_id = number_at(row, order.id_offset);
        if (guid == guid_wanted && row_id == id)
            return row;
        if (guid < guid_wanted || (guid == guid_wanted && row_id < id))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* --- metadata ----------------------------------------------------------------------------- */

static int add_metadata(struct pass *pass, uint32_t guid, void *ctx, struct rp_err *err)
{
    struct rp_store *s = ctx;
    const char **pair = next_slot((void **)&s->metadata, &s->metadata_count, 2 * sizeof *pair);
    int result;

    (void)guid;
    if (!pair)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    pair[0] = pair[1] = "";
    result = get_text(pass, 0, "", &pair[0], err);
    return result < 0 ? result : get_text(pass, 1, "", &pair[1], err);
}

int rp_load_metadata(struct rp_store *s, struct rp_err *err)
{
    static const char *const columns[] = {"tag", "value"};
    static const bool required[] = {true, true};

    return for_each_row(s, RP_TABLE_metadata, columns, 2, required, add_metadata, s, err);
}
