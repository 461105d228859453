#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/path.h"
#include "base/vec.h"
#include "trace/rocpd.h"
#include "trace/rocpd_read.h"

/* JIT compilers (Triton, hipRTC, Inductor) give many kernels one name. A suffix that identifies
 * the code is added to the names, so that everything that joins by name keeps the kernels apart.
 * How the code is identified depends on who wrote the trace.
 */

/* The finest level comes first. */
enum level {
    BY_CONTENTS,  /**< a hash of what the kernel consists of, which our own tool leaves */
    BY_PLACE,     /**< registers, arguments and memory, and where the code object came from */
    BY_REGISTERS, /**< all that a CSV trace has */
    LEVELS
};

/** This is a kernel of a trace. */
struct known {
    struct rp_store *store;
    struct rp_row_kernel *row;
    size_t symbol_bytes;
    const char *arch; /**< "gfx942", or "" */
    size_t arch_bytes;
    uint64_t code[LEVELS]; /**< 0: cannot be told */
};

struct known_list {
    struct known *at;
    size_t count;
};

/* --- what is known of one ------------------------------------------------------------------ */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u; /* This is a step of splitmix64. */
    return hash ^ hash >> 32;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = mix(hash, (uint8_t)*text);
    return hash;
}

uint64_t rp_kernel_contents(const struct rp_row_kernel *row)
{
    json_t *extdata;
    const char *text;
    uint64_t hash;

    if (!row->extdata || !strstr(row->extdata, "code_hash"))
        return 0;
    extdata = json_loads(row->extdata, 0, NULL);
    text = json_string_value(json_object_get(extdata, "code_hash"));
    hash = text ? strtoull(text, NULL, 16) : 0;
    json_decref(extdata);
    return hash;
}

uint64_t rp_kernel_register_code(int64_t arch_vgprs, int64_t accum_vgprs, int64_t sgprs)
{
    if (arch_vgprs <= 0 && accum_vgprs <= 0 && sgprs <= 0)
        return 0;
    return mix(mix(mix(mix(0, (uint64_t)arch_vgprs), (uint64_t)accum_vgprs), (uint64_t)sgprs), 1) |
           1;
}

/* "file:///app#offset=8192&size=3672" is the same for each GPU and process. Of memory
 * ("memory://PID#offset=0x7f..&size=3672") addresses differ where a program loads a module again:
 * the size is what can be compared. In C++ kernels of one name are one by the one-definition rule,
 * however many files they lie in. */
static uint64_t mix_place(uint64_t hash, const char *uri, const char *symbol)
{
    const char *size = strstr(uri, "size="), *base = strrchr(uri, '/');

    if (strncmp(symbol, "_Z", 2) == 0)
        return hash;
    if (strncmp(uri, "memory:", strlen("memory:")) == 0)
        return size ? mix_text(hash, size) : hash;
    return mix_text(hash, base ? base : uri);
}

static struct known describe(struct rp_store *s, struct rp_row_kernel *row)
{
    const struct rp_row_code_object *object =
        rp_find_row(s, RP_ROWS_code_object, row->guid_index, row->code_object_id);
    const struct rp_row_agent *agent =
        object ? rp_find_row(s, RP_ROWS_agent, row->guid_index, object->agent_id) : NULL;
    struct known k = {.store = s,
                      .row = row,
                      .symbol_bytes = rp_kernel_name_length(row->kernel_name),
                      .arch = agent ? agent->name : ""};
    const int64_t sizes[] = {row->kernarg_bytes, row->group_bytes, row->private_bytes};
    uint64_t registers =
        rp_kernel_register_code(row->arch_vgpr_count, row->accum_vgpr_count, row->sgpr_count);

    k.arch_bytes = strcspn(k.arch, ":");
    k.code[BY_CONTENTS] = rp_kernel_contents(row);
    k.code[BY_REGISTERS] = registers;
    if (!object || !*object->uri)
        return k;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        registers = mix(registers, (uint64_t)sizes[i]);
    k.code[BY_PLACE] = mix_place(registers, object->uri, row->kernel_name) | 1;
    return k;
}

/* --- those of one name --------------------------------------------------------------------- */

static int order_of_texts(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);

    return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static int by_name_and_arch(const void *left, const void *right)
{
    const struct known *a = left, *b = right;
    int order = strcmp(a->row->plain_name, b->row->plain_name);

    if (!order)
        order = order_of_texts(a->row->kernel_name, a->symbol_bytes, b->row->kernel_name,
                               b->symbol_bytes);
    return order ? order : order_of_texts(a->arch, a->arch_bytes, b->arch, b->arch_bytes);
}

/* Returns the finest level that is known for all of them, or LEVELS if there is none. */
static enum level common_level(const struct known *of, size_t count)
{
    enum level level = BY_CONTENTS;

    for (size_t i = 0; i < count && level < LEVELS;)
        if (of[i].code[level])
            i++;
        else
            level++, i = 0;
    return level;
}

/* Tests whether kernels that differ at a finer level also differ at the coarse one. */
static bool tells_as_much(const struct known *of, size_t count, enum level coarse, enum level fine)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if ((of[i].code[coarse] == of[j].code[coarse]) !=
                (of[i].code[fine] == of[j].code[fine]))
                return false;
    return true;
}

static bool is_one(const struct known *of, size_t count, enum level level)
{
    for (size_t i = 1; i < count; i++)
        if (of[i].code[level] != of[0].code[level])
            return false;
    return true;
}

/* Returns the number of digits that keeps different codes different. */
static int digits_for(const struct known *of, size_t count, enum level level)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (of[i].code[level] != of[j].code[level] &&
                of[i].code[level] >> 32 == of[j].code[level] >> 32)
                return 16;
    return 8;
}

char *rp_kernel_code_name(const char *name, uint64_t code, int digits)
{
    return digits == 16 ? rp_format("%s [code %016" PRIx64 "]", name, code)
                        : rp_format("%s [code %08" PRIx64 "]", name, code >> 32);
}

size_t rp_kernel_plain_length(const char *name)
{
    static const char before[] = " [code ";
    const size_t length = strlen(name), before_length = strlen(before);

    for (size_t digits = 8; digits <= 16; digits += 8) {
        const size_t added = before_length + digits + 1;
        const char *at = length > added ? name + length - added : "";

        if (strncmp(at, before, before_length) == 0 &&
            strspn(at + before_length, "0123456789abcdef") == digits && name[length - 1] == ']')
            return length - added;
    }
    return length;
}

static int rename_one(const struct known *k, const char *name, bool *ret_changed,
                      struct rp_err *err)
{
    if (strcmp(k->row->display_name, name) == 0)
        return 0;
    *ret_changed = true;
    k->row->display_name = rp_string_pool_add(&k->store->text, name, strlen(name));
    return k->row->display_name
               ? 0
               : rp_fail(err, RP_ENVIRONMENT, "read trace %s: out of memory", k->store->path);
}

/* A name that is that of more kernels than can be told apart in reasonable time. */
enum { MOST_OF_A_NAME = 4096 };

static int name_group(const struct known *of, size_t count, bool *ret_changed, struct rp_err *err)
{
    enum level level = common_level(of, count);
    const bool one = level == LEVELS || is_one(of, count, level);
    int digits, result = 0;

    if (!one && count <= MOST_OF_A_NAME && level == BY_PLACE &&
        tells_as_much(of, count, BY_REGISTERS, BY_PLACE))
        level = BY_REGISTERS; /* Files with counters have registers too. */
    digits = one ? 0 : count > MOST_OF_A_NAME ? 16 : digits_for(of, count, level);
    for (size_t i = 0; i < count && result == 0; i++) {
        const char *plain = of[i].row->plain_name;
        rp_autofree char *name = one ? NULL : rp_kernel_code_name(plain, of[i].code[level], digits);

        result = one || name ? rename_one(&of[i], one ? plain : name, ret_changed, err)
                             : rp_out_of_memory(err);
    }
    return result;
}

/* --- all of them --------------------------------------------------------------------------- */

/* Columns that cannot be read distinguish nothing. */
static int load_places(struct rp_store *s, struct rp_err *err)
{
    struct rp_err ignored = RP_ERR_INIT;

    if (rp_load_rows(s, RP_ROWS_code_object, &ignored) == -(int)RP_ENVIRONMENT ||
        rp_load_rows(s, RP_ROWS_agent, &ignored) == -(int)RP_ENVIRONMENT) {
        *err = ignored;
        return -(int)RP_ENVIRONMENT;
    }
    return 0;
}

static int add_known(struct rp_store *s, struct rp_rowset *set, struct known_list *to,
                     struct rp_err *err)
{
    struct rp_row_kernel *rows = set->rows;
    struct known *grown;
    int result = load_places(s, err);

    if (result < 0)
        return result;
    grown = reallocarray(to->at, to->count + set->count + 1, sizeof *grown);
    if (!grown)
        return rp_out_of_memory(err);
    to->at = grown;
    for (size_t i = 0; i < set->count; i++) {
        struct known k = describe(s, &rows[i]);

        if (*rows[i].plain_name && common_level(&k, 1) != LEVELS)
            grown[to->count++] = k;
    }
    return 0;
}

static int name_all(struct known_list *list, bool *ret_changed, struct rp_err *err)
{
    int result = 0;

    if (list->count)
        qsort(list->at, list->count, sizeof *list->at, by_name_and_arch);
    for (size_t i = 0, end; i < list->count && result == 0; i = end) {
        for (end = i + 1; end < list->count && by_name_and_arch(&list->at[i], &list->at[end]) == 0;)
            end++;
        result = name_group(&list->at[i], end - i, ret_changed, err);
    }
    return result;
}

/** Display names of the store's own kernels: without the end that names the descriptor, and with
 * what tells those of one name apart. */
static int name_kernels(struct rp_store *s, struct rp_rowset *set, struct rp_err *err)
{
    struct rp_row_kernel *rows = set->rows;
    struct known_list list = {0};
    bool changed = false;
    int result = 0;

    for (size_t i = 0; i < set->count; i++) {
        const char *name = *rows[i].display_name ? rows[i].display_name : rows[i].kernel_name;
        size_t length = rp_kernel_name_length(name);

        rows[i].plain_name = name[length] ? rp_string_pool_add(&s->text, name, length) : name;
        rows[i].display_name = rows[i].plain_name;
        if (!rows[i].plain_name)
            return rp_fail(err, RP_ENVIRONMENT, "read trace %s: out of memory", s->path);
    }
    if (set->count > 1)
        result = add_known(s, set, &list, err);
    if (result == 0)
        result = name_all(&list, &changed, err);
    free(list.at);
    return result;
}

int rp_store_tell_apart(struct rp_store *const *stores, size_t count, bool *ret_changed,
                        struct rp_err *err)
{
    struct known_list list = {0};
    bool changed = false;
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++) {
        result = rp_load_rows(stores[i], RP_ROWS_kernel, err);
        if (result == 0 && count > 1)
            result = add_known(stores[i], &stores[i]->rows[RP_ROWS_kernel], &list, err);
    }
    if (result == 0)
        result = name_all(&list, &changed, err);
    free(list.at);
    if (result == 0 && ret_changed)
        *ret_changed = changed;
    return result;
}

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

    /* Ids of one process usually count up without a gap, so the index is the difference. */
    if (table->count && id >= table->rows[0].id &&
        (uint64_t)(id - table->rows[0].id) < table->count) {
        const struct rp_keyed *guess = &table->rows[id - table->rows[0].id];
        if (guess->id == id && guess->guid_index == guid)
            return guess;
    }
    return table->count ? bsearch(&key, table->rows, table->count, sizeof key, by_guid_and_id)
                        : NULL;
}

static int add_string(struct rp_table_scan *pass, uint32_t guid, void *ctx, struct rp_err *err)
{
    struct rp_lookup *table = ctx;
    struct rp_keyed row = {.guid_index = guid}, *slot;
    int result = rp_table_scan_number(pass, 0, 0, &row.id, err);

    if (result == 0)
        result = rp_table_scan_text(pass, 1, "", &row.text, err);
    if (result < 0)
        return result;
    slot = rp_array_add(&table->rows, &table->count);
    if (!slot)
        return rp_out_of_memory(err);
    *slot = row;
    return 0;
}

static int load_strings(struct rp_store *s, struct rp_err *err)
{
    static const char *const columns[] = {"id", "string"};
    static const bool required[] = {true, true};
    const struct rp_table_scan_request order = {.table = RP_TABLE_string,
                                                .columns = columns,
                                                .column_count = 2,
                                                .required = required,
                                                .keep_texts = true};
    int result;

    if (s->strings.loaded)
        return 0;
    result = rp_table_scan_each(s, &order, add_string, &s->strings, err);
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

static int load_string(struct rp_table_scan *pass, size_t column, uint32_t guid, const char **ret,
                       struct rp_err *err)
{
    const struct rp_keyed *found;
    int64_t id;
    int result = rp_table_scan_number(pass, column, -1, &id, err);

    if (result < 0)
        return result;
    found = look_up(&pass->store->strings, guid, id);
    if (!found && id >= 0)
        return rp_fail(err, RP_BAD_INPUT, "table %s: string %" PRId64 " is missing",
                       rp_table_name(pass->table), id);
    *ret = found ? found->text : "";
    return 0;
}

/* Loads what an event says, or nothing when there is no such row. */
static int load_event(struct rp_table_scan *pass, size_t column, uint32_t guid, int64_t *ret_id,
                      struct rp_event *ret, struct rp_err *err)
{
    int result = rp_table_scan_number(pass, column, -1, ret_id, err);

    *ret = (struct rp_event){0};
    if (result == 0 && *ret_id >= 0)
        rp_events_find(&pass->store->events, guid, *ret_id, ret);
    return result;
}

/* Loads part of an event, because the kinds of column that refer to an event differ in what they
 * keep.
 */
static int load_event_fields(struct rp_table_scan *pass, size_t column, enum rp_kind kind,
                             uint32_t guid, int64_t *ret, struct rp_err *err)
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

static int load_word(struct rp_table_scan *pass, size_t column, enum rp_kind kind, void *field,
                     struct rp_err *err)
{
    const char *word;
    int result = rp_table_scan_text(pass, column, "", &word, err);

    if (result < 0)
        return result;
    if (kind == RP_KIND_TYPE) {
        *(bool *)field = strcmp(word, "GPU") == 0;
    } else {
        bool *known = field; /* storage_is_file follows storage_known in memory. */
        known[1] = strcmp(word, "FILE") == 0;
        known[0] = known[1] || strcmp(word, "MEMORY") == 0;
    }
    return 0;
}

static int load_column(struct rp_table_scan *pass, size_t i, enum rp_kind kind, uint32_t guid,
                       void *field, struct rp_err *err)
{
    /* Most columns are of these kinds, and a branch is cheaper than a jump through a table. */
    if (kind <= RP_KIND_REF)
        return rp_table_scan_number(pass, i, kind >= RP_KIND_KNOWN ? -1 : 0, field, err);
    switch (kind) {
    case RP_KIND_THREAD:
        return rp_table_scan_number(pass, i, 0, field, err);
    case RP_KIND_REAL:
        return rp_table_scan_real(pass, i, field, err);
    case RP_KIND_TEXT:
        return rp_table_scan_text(pass, i, "", field, err);
    case RP_KIND_JSON:
        return rp_table_scan_text(pass, i, "{}", field, err);
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

static int load_row(struct rp_table_scan *pass, const struct rp_spec *spec, uint32_t guid,
                    char *row, struct rp_err *err)
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

static int add_row(struct rp_table_scan *pass, uint32_t guid, void *ctx, struct rp_err *err)
{
    struct load *load = ctx;
    char *row = rp_array_next(&load->set.rows, &load->set.count, load->spec->row_bytes);

    if (!row)
        return rp_out_of_memory(err);
    return load_row(pass, load->spec, guid, row, err);
}

/* Reads a table row by row. */
static int read_rows(struct rp_store *s, const struct rp_spec *spec, bool keep_texts,
                     rp_table_scan_fn *on_row, void *ctx, struct rp_err *err)
{
    const char *names[RP_TABLE_SCAN_COLUMNS];
    bool required[RP_TABLE_SCAN_COLUMNS];
    const struct rp_table_scan_request order = {.table = spec->table,
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
        result = rp_table_scan_each(s, &order, on_row, ctx, err);
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
        result = name_kernels(s, &load.set, err);
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

static int take_row(struct rp_table_scan *pass, uint32_t guid, void *ctx, struct rp_err *err)
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
        return rp_out_of_memory(err);
    return read_rows(s, spec, false, take_row, &each, err);
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

/* --- names -------------------------------------------------------------------------------- */

size_t rp_kernel_name_length(const char *name)
{
    static const char *const ends[] = {" [clone .kd]", " (.kd)", ".kd"};
    size_t len = strlen(name);

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t end = strlen(ends[i]);

        if (len > end && memcmp(name + len - end, ends[i], end) == 0)
            return len - end;
    }
    return len;
}
