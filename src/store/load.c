#include "base/cleanup.h"
#include "base/err.h"
#include "rocm-perf/store.h"
#include "store/pass.h"
#include "store/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- strings ------------------------------------------------------------------------------ */

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

static int add_string(struct rp_pass *pass, uint32_t guid, void *ctx, struct rp_err *err)
{
    struct rp_lookup *table = ctx;
    struct rp_keyed row = {.guid_index = guid}, *slot;
    int result = rp_pass_number(pass, 0, 0, &row.id, err);

    if (result == 0)
        result = rp_pass_text(pass, 1, "", &row.text, err);
    if (result < 0)
        return result;
    slot = rp_next_slot((void **)&table->rows, &table->count, sizeof row);
    if (!slot)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    *slot = row;
    return 0;
}

static int load_strings(struct rp_store *s, struct rp_err *err)
{
    static const char *const columns[] = {"id", "string"};
    static const bool required[] = {true, true};
    const struct rp_pass_order order = {.table = RP_TABLE_string,
                                        .columns = columns,
                                        .column_count = 2,
                                        .required = required,
                                        .keep_texts = true};
    int result;

    if (s->strings.loaded)
        return 0;
    result = rp_pass_each(s, &order, add_string, &s->strings, err);
    if (result < 0) {
        free(s->strings.rows);
        s->strings = (struct rp_lookup){0};
        return result;
    }
    if (s->strings.count)
        qsort(s->strings.rows, s->strings.count, sizeof *s->strings.rows, by_guid_and_id);
    s->strings.loaded = true;
    return 0;
}

/* --- rows --------------------------------------------------------------------------------- */

static int load_string(struct rp_pass *pass, size_t column, uint32_t guid, const char **ret,
                       struct rp_err *err)
{
    const struct rp_keyed *found;
    int64_t id;
    int result = rp_pass_number(pass, column, -1, &id, err);

    if (result < 0)
        return result;
    found = look_up(&pass->store->strings, guid, id);
    if (!found && id >= 0)
        return rp_fail(err, RP_BAD_INPUT, "table %s: string %" PRId64 " is missing",
                       rp_table_name(pass->table), id);
    *ret = found ? found->text : "";
    return 0;
}

/* What an event says; nothing when there is no such row. */
static int load_event(struct rp_pass *pass, size_t column, uint32_t guid, int64_t *ret_id,
                      struct rp_event *ret, struct rp_err *err)
{
    int result = rp_pass_number(pass, column, -1, ret_id, err);

    *ret = (struct rp_event){0};
    if (result == 0 && *ret_id >= 0)
        rp_events_find(&pass->store->events, guid, *ret_id, ret);
    return result;
}

/* The kinds of column that refer to an event differ in how much of it they keep. */
static int load_event_fields(struct rp_pass *pass, size_t column, enum rp_kind kind, uint32_t guid,
                             int64_t *ret, struct rp_err *err)
{
    struct rp_event event;
    int64_t id;
    int result = load_event(pass, column, guid, &id, &event, err);

    if (result < 0)
        return result;
    if (kind == RP_KIND_EVENT_ROW) {
        ret[0] = id;
        ret[1] = event.call;
        ret[2] = event.parent;
        return 0;
    }
    ret[0] = event.call;
    if (kind == RP_KIND_EVENT_BOTH)
        ret[1] = id;
    return 0;
}

static int load_word(struct rp_pass *pass, size_t column, enum rp_kind kind, void *field,
                     struct rp_err *err)
{
    const char *word;
    int result = rp_pass_text(pass, column, "", &word, err);

    if (result < 0)
        return result;
    if (kind == RP_KIND_TYPE) {
        *(bool *)field = strcmp(word, "GPU") == 0;
    } else {
        bool *known = field; /* storage_known, then storage_is_file */
        known[1] = strcmp(word, "FILE") == 0;
        known[0] = known[1] || strcmp(word, "MEMORY") == 0;
    }
    return 0;
}

static int load_column(struct rp_pass *pass, size_t i, enum rp_kind kind, uint32_t guid,
                       void *field, struct rp_err *err)
{
    if (kind <= RP_KIND_REF) /* most are: a branch is cheaper than a jump through a table */
        return rp_pass_number(pass, i, kind >= RP_KIND_KNOWN ? -1 : 0, field, err);
    switch (kind) {
    case RP_KIND_THREAD:
        return rp_pass_number(pass, i, 0, field, err);
    case RP_KIND_REAL:
        return rp_pass_real(pass, i, field, err);
    case RP_KIND_TEXT:
        return rp_pass_text(pass, i, "", field, err);
    case RP_KIND_JSON:
        return rp_pass_text(pass, i, "{}", field, err);
    case RP_KIND_STRING:
        return load_string(pass, i, guid, field, err);
    case RP_KIND_EVENT:
    case RP_KIND_EVENT_BOTH:
    case RP_KIND_EVENT_ROW:
        return load_event_fields(pass, i, kind, guid, field, err);
    case RP_KIND_TYPE:
    case RP_KIND_STORAGE:
        return load_word(pass, i, kind, field, err);
    case RP_KIND_ID:
    case RP_KIND_INT:
    case RP_KIND_TIME:
    case RP_KIND_KNOWN:
    case RP_KIND_REF:
    case RP_KIND_NODE:
    case RP_KIND_PROCESS:
    case RP_KIND_PARENT:
    case RP_KIND_NO_REGION:
    case RP_KIND_WRITTEN:
        return 0;
    }
    return 0;
}

static int load_row(struct rp_pass *pass, const struct rp_spec *spec, uint32_t guid, char *row,
                    struct rp_err *err)
{
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

struct load {
    const struct rp_spec *spec;
    struct rp_rowset set;
};

static int add_row(struct rp_pass *pass, uint32_t guid, void *ctx, struct rp_err *err)
{
    struct load *load = ctx;
    char *row = rp_next_slot(&load->set.rows, &load->set.count, load->spec->row_bytes);

    if (!row)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return load_row(pass, load->spec, guid, row, err);
}

/* Reads a table row by row. */
static int read_rows(struct rp_store *s, const struct rp_spec *spec, bool keep_texts,
                     rp_pass_fn *on_row, void *ctx, struct rp_err *err)
{
    const char *names[RP_PASS_COLUMNS];
    bool required[RP_PASS_COLUMNS];
    const struct rp_pass_order order = {.table = spec->table,
                                        .columns = names,
                                        .column_count = spec->column_count,
                                        .required = required,
                                        .keep_texts = keep_texts};
    int result = 0;

    for (size_t i = 0; i < spec->column_count; i++) {
        names[i] = spec->columns[i].name;
        required[i] = spec->columns[i].required;
    }
    if (spec->category) {
        result = load_strings(s, err);
        if (result == 0)
            result = rp_events_load(s, err);
    }
    if (result == 0)
        result = rp_pass_each(s, &order, on_row, ctx, err);
    return result < 0 ? rp_wrap(err, "read trace %s", s->path) : 0;
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
    struct order order = order_of(spec);
    int result;

    if (s->rows[rows].loaded)
        return 0;
    result = read_rows(s, spec, true, add_row, &load, err);
    if (result == 0 && rows == RP_ROWS_kernel)
        result = rp_name_kernels(s, &load.set, err);
    if (result < 0) {
        free(load.set.rows);
        return result;
    }
    if (load.set.count && !is_in_order(&load.set, spec->row_bytes, &order))
        qsort_r(load.set.rows, load.set.count, spec->row_bytes, in_order, &order);
    s->rows[rows] = load.set;
    s->rows[rows].loaded = true;
    return 0;
}

/* --- one after the other ------------------------------------------------------------------- */

struct each {
    const struct rp_spec *spec;
    rp_store_row_fn *fn;
    void *ctx;
    char *row;
};

static int hand_row(struct rp_pass *pass, uint32_t guid, void *ctx, struct rp_err *err)
{
    struct each *each = ctx;
    int result = load_row(pass, each->spec, guid, each->row, err);

    return result < 0 ? result : each->fn(each->ctx, each->row, err);
}

int rp_each_row(struct rp_store *s, enum rp_rows rows, rp_store_row_fn *fn, void *ctx,
                struct rp_err *err)
{
    const struct rp_spec *spec = &rp_specs[rows];
    rp_autofree char *row = malloc(spec->row_bytes);
    struct each each = {.spec = spec, .fn = fn, .ctx = ctx, .row = row};

    if (!row)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return read_rows(s, spec, false, hand_row, &each, err);
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

static int add_metadata(struct rp_pass *pass, uint32_t guid, void *ctx, struct rp_err *err)
{
    struct rp_store *s = ctx;
    const char **pair = rp_next_slot((void **)&s->metadata, &s->metadata_count, 2 * sizeof *pair);
    int result;

    (void)guid;
    if (!pair)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    pair[0] = pair[1] = "";
    result = rp_pass_text(pass, 0, "", &pair[0], err);
    return result < 0 ? result : rp_pass_text(pass, 1, "", &pair[1], err);
}

int rp_load_metadata(struct rp_store *s, struct rp_err *err)
{
    static const char *const columns[] = {"tag", "value"};
    static const bool required[] = {true, true};

    const struct rp_pass_order order = {.table = RP_TABLE_metadata,
                                        .columns = columns,
                                        .column_count = 2,
                                        .required = required,
                                        .keep_texts = true};

    return rp_pass_each(s, &order, add_metadata, s, err);
}
