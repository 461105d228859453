#include "tune/json_space.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tune/space.h"

enum { READ_BYTES = 1 << 16, MOST_MIB = 1024 };

static int out_of_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory for the search space");
}

/* --- the file ------------------------------------------------------------------------------ */

static void close_gz(gzFile *file)
{
    if (*file)
        gzclose(*file);
}

/* gzread passes what is not compressed through as it is. */
int rp_json_read_file(const char *path, struct rp_buf *text, struct rp_err *err)
{
    __attribute__((cleanup(close_gz))) gzFile file = NULL;
    rp_autofree char *chunk = malloc(READ_BYTES);
    int got, code = Z_OK;

    errno = 0;
    if (!chunk || !(file = gzopen(path, "rb")))
        return rp_fail_errno(err, errno == ENOENT ? RP_BAD_INPUT : RP_ENVIRONMENT,
                             errno ? errno : ENOMEM, "cannot read it");
    while ((got = gzread(file, chunk, READ_BYTES)) > 0) {
        rp_buf_add(text, chunk, (size_t)got);
        if (text->failed)
            return out_of_memory(err);
        if (text->len > (size_t)MOST_MIB << 20)
            return rp_fail(err, RP_BAD_INPUT, "more than %d MiB of text", MOST_MIB);
    }
    if (got == 0)
        gzerror(file, &code); /* an end within compressed data is told here only */
    if (got < 0 || code != Z_OK) {
        const char *why = gzerror(file, &code);

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

/* --- parameters and their values ------------------------------------------------------------ */

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

/** Values in the order in which configurations have them first. */
struct seen {
    struct rp_value values[RP_MOST_VALUES];
    size_t count;
    size_t last; /**< number of the value met last: mostly the next one again */
};

static int see(struct seen *seen, const struct rp_value *value, struct rp_err *err)
{
    if (seen->last < seen->count && rp_value_same(&seen->values[seen->last], value))
        return 0;
    for (seen->last = 0; seen->last < seen->count; seen->last++)
        if (rp_value_same(&seen->values[seen->last], value))
            return 0;
    if (seen->count == RP_MOST_VALUES)
        return rp_fail(err, RP_BAD_INPUT, "more than %d values", RP_MOST_VALUES);
    seen->values[seen->count++] = *value;
    return 0;
}

int rp_json_add_parameter(struct rp_space *space, const char *name, const json_t *configs,
                          struct rp_err *err)
{
    rp_autofree struct seen *seen = calloc(1, sizeof *seen);

    if (!seen)
        return out_of_memory(err);
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

/* --- configurations ------------------------------------------------------------------------- */

int rp_json_add_config(struct rp_space *space, const json_t *config, struct rp_err *err)
{
    uint16_t row[RP_MOST_PARAMETERS];

    for (size_t i = 0; i < space->parameter_count; i++) {
        const json_t *json = json_object_get(config, space->parameters[i].name);
        struct rp_value value;

        row[i] = json && rp_json_value(json, &value)
                     ? (uint16_t)rp_parameter_value(&space->parameters[i], &value)
                     : RP_NO_VALUE;
    }
    return rp_space_add(space, row, err);
}
