#include "tune/space.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

/** The table uses open addressing: slots hold a configuration's number + 1, and 0 is free. */
struct rp_space_index {
    uint32_t *slots;
    size_t capacity; /**< a power of two, more than half of it free */
    size_t rows;     /**< that there is memory for in choices */
};

struct rp_space *rp_space_new(void)
{
    struct rp_space *space = rp_alloc_zero(1, sizeof *space);
    struct rp_space_index *index = rp_alloc_zero(1, sizeof *index);

    space->index = index;
    return space;
}

static void free_values(struct rp_value *values, size_t count)
{
    for (size_t i = 0; values && i < count; i++)
        if (values[i].kind == RP_VALUE_TEXT)
            free((char *)values[i].text);
    free(values);
}

void rp_space_free(struct rp_space *space)
{
    if (!space)
        return;
    for (size_t i = 0; i < space->parameter_count; i++) {
        free((char *)space->parameters[i].name);
        free_values(space->parameters[i].values, space->parameters[i].count);
    }
    free(space->parameters);
    free(space->choices);
    free(space->index->slots);
    free(space->index);
    free(space);
}

/* --- values ----------------------------------------------------------------------------------- */

/** Values are the same if both kind and value are: 1, 1.0 and true are three values. */
static bool value_same(const struct rp_value *a, const struct rp_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case RP_VALUE_INTEGER:
        return a->integer == b->integer;
    case RP_VALUE_REAL:
        return a->real == b->real;
    case RP_VALUE_BOOLEAN:
        return a->boolean == b->boolean;
    case RP_VALUE_TEXT:
        return strcmp(a->text, b->text) == 0;
    }
    return false;
}

/** Chooses the shortest of the usual precisions that reads back as the same number: 1000.0, not
 * 1e+03. */
static void real_text(double real, struct rp_buf *to)
{
    const bool plain = fabs(real) >= 1 && fabs(real) < 1e15;
    char text[40];

    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, real);
        if (strtod(text, NULL) == real && !(plain && strchr(text, 'e')))
            break;
    }
    rp_buf_puts(to, text);
    if (!strpbrk(text, ".e")) /* A whole number needs a point to stay a real. */
        rp_buf_puts(to, ".0");
}

void rp_value_text(const struct rp_value *value, struct rp_buf *to)
{
    switch (value->kind) {
    case RP_VALUE_INTEGER:
        rp_buf_printf(to, "%lld", (long long)value->integer);
        break;
    case RP_VALUE_REAL:
        real_text(value->real, to);
        break;
    case RP_VALUE_BOOLEAN:
        rp_buf_puts(to, value->boolean ? "true" : "false");
        break;
    case RP_VALUE_TEXT:
        rp_buf_puts(to, value->text);
        break;
    }
}

/* --- parameters ------------------------------------------------------------------------------- */

int rp_space_parameter(const struct rp_space *space, const char *name)
{
    for (size_t i = 0; i < space->parameter_count; i++)
        if (strcmp(space->parameters[i].name, name) == 0)
            return (int)i;
    return -1;
}

int rp_parameter_value(const struct rp_parameter *parameter, const struct rp_value *value)
{
    for (size_t i = 0; i < parameter->count; i++)
        if (value_same(&parameter->values[i], value))
            return (int)i;
    return -1;
}

static int check_parameter(const struct rp_space *space, const char *name, size_t count,
                           struct rp_err *err)
{
    if (!*name)
        return rp_fail(err, RP_BAD_INPUT, "a parameter without a name");
    if (rp_space_parameter(space, name) >= 0)
        return rp_fail(err, RP_BAD_INPUT, "parameter %.60s is there twice", name);
    if (space->parameter_count == RP_MAX_PARAMETERS)
        return rp_fail(err, RP_BAD_INPUT, "more than %d parameters", RP_MAX_PARAMETERS);
    if (count == 0 || count > RP_MAX_PARAMETER_VALUES)
        return rp_fail(err, RP_BAD_INPUT, "parameter %.60s: %zu values; 1 to %d are possible", name,
                       count, RP_MAX_PARAMETER_VALUES);
    return 0;
}

/** Copies values to a parameter one by one, because each is compared with those before it. */
static int copy_values(struct rp_parameter *to, const struct rp_value *values, size_t count,
                       struct rp_err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct rp_value value = values[i];
        rp_autobuf text = {0};

        if (value.kind == RP_VALUE_REAL && !isfinite(value.real))
            return rp_fail(err, RP_BAD_INPUT, "parameter %.60s: a value that is not finite",
                           to->name);
        if (rp_parameter_value(to, &value) >= 0) {
            rp_value_text(&value, &text);
            return rp_fail(err, RP_BAD_INPUT, "parameter %.60s: value %.60s is there twice",
                           to->name, rp_buf_text(&text));
        }
        if (value.kind == RP_VALUE_TEXT)
            value.text = rp_strdup(value.text);
        to->values[to->count++] = value;
    }
    return 0;
}

int rp_space_add_parameter(struct rp_space *space, const char *name, const struct rp_value *values,
                           size_t count, struct rp_err *err)
{
    struct rp_parameter parameter = {0};
    int rc = check_parameter(space, name, count, err);

    if (rc < 0)
        return rc;
    parameter.name = rp_strdup(name);
    parameter.values = rp_alloc_zero(count, sizeof *parameter.values);
    space->parameters =
        rp_realloc_array(space->parameters, space->parameter_count + 1, sizeof *space->parameters);
    rc = copy_values(&parameter, values, count, err);
    if (rc < 0) {
        free((char *)parameter.name);
        free_values(parameter.values, parameter.count);
        return rc;
    }
    space->parameters[space->parameter_count++] = parameter;
    return 0;
}

/* --- configurations --------------------------------------------------------------------------- */

static size_t row_bytes(const struct rp_space *space)
{
    return space->parameter_count * sizeof *space->choices;
}

/** The hash is FNV-1a. */
static uint64_t hash_row(const struct rp_space *space, const uint16_t *row)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (size_t i = 0; i < space->parameter_count; i++)
        hash = (hash ^ row[i]) * 0x100000001b3;
    return hash ^ (hash >> 32);
}

/** Finds the slot in which the row stands, or the free one where it would. */
static uint32_t *slot_of(const struct rp_space *space, const uint16_t *row)
{
    const struct rp_space_index *index = space->index;
    size_t at = (size_t)hash_row(space, row) & (index->capacity - 1);

    while (index->slots[at] &&
           memcmp(rp_space_row(space, index->slots[at] - 1), row, row_bytes(space)) != 0)
        at = (at + 1) & (index->capacity - 1);
    return &index->slots[at];
}

int64_t rp_space_find(const struct rp_space *space, const uint16_t *row)
{
    return space->index->capacity ? (int64_t)*slot_of(space, row) - 1 : -1;
}

static void grow(struct rp_space *space)
{
    struct rp_space_index *index = space->index;
    const size_t rows = index->rows ? 2 * index->rows : 64;
    uint32_t *slots = rp_alloc_zero(4 * rows, sizeof *slots);

    space->choices = rp_realloc(space->choices, rows * row_bytes(space) + 1);
    free(index->slots);
    *index = (struct rp_space_index){.slots = slots, .capacity = 4 * rows, .rows = rows};
    for (size_t i = 0; i < space->count; i++)
        *slot_of(space, rp_space_row(space, i)) = (uint32_t)(i + 1);
}

int rp_space_add(struct rp_space *space, const uint16_t *row, struct rp_err *err)
{
    uint32_t *slot;

    if (space->count == space->index->rows)
        grow(space);
    slot = slot_of(space, row);
    if (*slot)
        return 1;
    if (space->count == RP_MAX_CONFIGS)
        return rp_fail(err, RP_BAD_INPUT,
                       "more than %d configurations; add constraints, or give fewer values",
                       RP_MAX_CONFIGS);
    memcpy(space->choices + space->count * space->parameter_count, row, row_bytes(space));
    *slot = (uint32_t)++space->count;
    for (size_t i = 0; i < space->parameter_count; i++)
        space->conditional |= row[i] == RP_NO_VALUE;
    return 0;
}

char *rp_space_key(const struct rp_space *space, size_t config)
{
    rp_autojson object = json_object();

    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct rp_value *value = rp_space_value(space, config, i);

        if (value)
            json_object_set_new(object, space->parameters[i].name, rp_json_of_value(value));
    }
    return json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
}

enum { READ_BYTES = 1 << 16, MOST_MIB = 1024 };

/* --- the file --------------------------------------------------------------------------------- */

static void close_gz(gzFile *file)
{
    if (*file)
        gzclose(*file);
}

/* gzread passes what is not compressed through as it is. */
int rp_json_read_file(const char *path, struct rp_buf *text, struct rp_err *err)
{
    __attribute__((cleanup(close_gz))) gzFile file = NULL;
    rp_autofree char *chunk = rp_alloc(READ_BYTES);
    int got, code = Z_OK;

    errno = 0;
    if (!(file = gzopen(path, "rb")))
        return rp_fail_errno(err,
                             errno == ENOENT || errno == ENOTDIR ? RP_BAD_INPUT : RP_ENVIRONMENT,
                             errno ? errno : ENOMEM, "cannot read it");
    while ((got = gzread(file, chunk, READ_BYTES)) > 0) {
        rp_buf_add(text, chunk, (size_t)got);
        if (text->len > (size_t)MOST_MIB << 20)
            return rp_fail(err, RP_BAD_INPUT, "more than %d MiB of text", MOST_MIB);
    }
    if (got == 0)
        gzerror(file, &code); /* Only this call reports an end within compressed data. */
    if (got < 0 || code != Z_OK) {
        const char *why = gzerror(file, &code);

        if (code == Z_ERRNO && errno == EISDIR)
            return rp_fail(err, RP_BAD_INPUT, "it is a folder: give a file");
        if (code == Z_ERRNO)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read it");
        return rp_fail(err, RP_BAD_INPUT, "its compressed data are damaged or cut off (%s)", why);
    }
    return 0;
}

int rp_json_space_parse(const char *text, size_t bytes, json_t **ret, struct rp_err *err)
{
    json_error_t error;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    const char *why = error.text;

    if (root) {
        *ret = root;
        return 0;
    }
    if (bytes == 0)
        return rp_fail(err, RP_BAD_INPUT, "it is empty");
    switch (json_error_code(&error)) {
    case json_error_null_character:
    case json_error_null_byte_in_key:
        why = "a text has a zero byte, which no program can be given";
        break;
    case json_error_numeric_overflow:
        why = "a number that does not fit in 64 bits";
        break;
    default:
        break;
    }
    return rp_fail(err, RP_BAD_INPUT, "line %d, column %d: %s", error.line, error.column, why);
}

/* --- parameters and their values -------------------------------------------------------------- */

bool rp_json_value(const json_t *json, struct rp_value *ret)
{
    switch (json_typeof(json)) {
    case JSON_INTEGER:
        *ret = (struct rp_value){.kind = RP_VALUE_INTEGER, .integer = json_integer_value(json)};
        return true;
    case JSON_REAL:
        *ret = (struct rp_value){.kind = RP_VALUE_REAL, .real = json_real_value(json)};
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
        *ret = (struct rp_value){.kind = RP_VALUE_BOOLEAN, .boolean = json_is_true(json)};
        return true;
    case JSON_STRING:
        *ret = (struct rp_value){.kind = RP_VALUE_TEXT, .text = json_string_value(json)};
        return true;
    default:
        return false;
    }
}

json_t *rp_json_of_value(const struct rp_value *value)
{
    switch (value->kind) {
    case RP_VALUE_INTEGER:
        return json_integer(value->integer);
    case RP_VALUE_REAL:
        return json_real(value->real);
    case RP_VALUE_BOOLEAN:
        return json_boolean(value->boolean);
    case RP_VALUE_TEXT:
        return json_string(value->text);
    }
    return NULL;
}

int rp_space_check_name(const char *name, struct rp_err *err)
{
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f || *c == '{' || *c == '}')
            return rp_fail(err, RP_BAD_INPUT,
                           "a parameter's name has a brace or a control character");
    return 0;
}

/** Collects values in the order in which configurations first have them. */
struct seen {
    struct rp_value values[RP_MAX_PARAMETER_VALUES];
    size_t count;
    size_t last; /**< number of the value met last: mostly the next one again */
};

static int see(struct seen *seen, const struct rp_value *value, struct rp_err *err)
{
    if (seen->last < seen->count && value_same(&seen->values[seen->last], value))
        return 0;
    for (seen->last = 0; seen->last < seen->count; seen->last++)
        if (value_same(&seen->values[seen->last], value))
            return 0;
    if (seen->count == RP_MAX_PARAMETER_VALUES)
        return rp_fail(err, RP_BAD_INPUT, "more than %d values", RP_MAX_PARAMETER_VALUES);
    seen->values[seen->count++] = *value;
    return 0;
}

int rp_json_add_parameter(struct rp_space *space, const char *name, const json_t *configs,
                          struct rp_err *err)
{
    rp_autofree struct seen *seen = rp_alloc_zero(1, sizeof *seen);

    for (size_t i = 0; i < json_array_size(configs); i++) {
        const json_t *json = json_object_get(json_array_get(configs, i), name);
        struct rp_value value;

        if (!json || json_is_null(json))
            continue;
        if (!rp_json_value(json, &value))
            return rp_fail(err, RP_BAD_INPUT,
                           "configuration %zu, parameter %.60s: neither a number, a text, true nor "
                           "false",
                           i + 1, name);
        if (see(seen, &value, err) < 0)
            return rp_wrap(err, "parameter %.60s", name);
    }
    if (seen->count == 0)
        return rp_fail(err, RP_BAD_INPUT, "parameter %.60s: no configuration has a value of it",
                       name);
    return rp_space_add_parameter(space, name, seen->values, seen->count, err);
}

/* --- configurations --------------------------------------------------------------------------- */

int rp_json_add_config(struct rp_space *space, const json_t *config, struct rp_err *err)
{
    uint16_t row[RP_MAX_PARAMETERS];

    for (size_t i = 0; i < space->parameter_count; i++) {
        const json_t *json = json_object_get(config, space->parameters[i].name);
        struct rp_value value;

        row[i] = json && rp_json_value(json, &value)
                     ? (uint16_t)rp_parameter_value(&space->parameters[i], &value)
                     : RP_NO_VALUE;
    }
    return rp_space_add(space, row, err);
}
