#include "store/json_fields.h"

#include "base/buf.h"
#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

json_t *rp_json_parse(const struct rp_buf *text, struct rp_err *err)
{
    json_error_t error;
    json_t *value =
        json_loadb(rp_buf_text(text), text->len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);

    if (value)
        return value;
    if (json_error_code(&error) == json_error_out_of_memory)
        rp_fail(err, RP_ENVIRONMENT, "out of memory");
    else
        rp_fail(err, RP_BAD_INPUT, "it is no JSON: %s", error.text);
    return NULL;
}

const json_t *rp_json_at(const json_t *record, const char *path)
{
    while (record && *path) {
        size_t len = strcspn(path, ".");
        record = json_object_getn(record, path, len);
        path += len + (path[len] == '.');
    }
    return json_is_null(record) ? NULL : record;
}

/* @param all_bits  a handle, of which all 64 bits count; else the number has to fit with its sign
 */
static int read_number(const json_t *record, const char *path, bool all_bits, int64_t if_none,
                       int64_t *ret, struct rp_err *err)
{
    const json_t *value = rp_json_at(record, path);
    const char *text;
    char *end;

    if (json_is_object(value)) {
        const json_t *handle = json_object_get(value, "handle");
        value = handle ? handle : json_object_get(value, "value");
        all_bits = true;
    }
    text = json_string_value(value);
    if (!value && !rp_json_at(record, path)) {
        *ret = if_none;
        return 0;
    }
    if (json_is_integer(value)) {
        *ret = json_integer_value(value);
        return 0;
    }
    errno = 0;
    if (text && *text) {
        uint64_t bits = strtoull(text, &end, 0);
        if (!*end && !errno && bits > INT64_MAX && !all_bits && *text != '-')
            return rp_fail(err, RP_BAD_INPUT, "its %s %s is too large", path, text);
        *ret = (int64_t)bits;
        if (!*end && !errno)
            return 0;
    }
    return rp_fail(err, RP_BAD_INPUT, "its %s is no whole number", path);
}

int rp_json_number(const json_t *record, const char *path, int64_t if_none, int64_t *ret,
                   struct rp_err *err)
{
    return read_number(record, path, true, if_none, ret, err);
}

static int read_needed(const json_t *record, const char *path, bool all_bits, int64_t *ret,
                       struct rp_err *err)
{
    if (!rp_json_at(record, path))
        return rp_fail(err, RP_BAD_INPUT, "it has no %s", path);
    return read_number(record, path, all_bits, 0, ret, err);
}

int rp_json_needed(const json_t *record, const char *path, int64_t *ret, struct rp_err *err)
{
    return read_needed(record, path, true, ret, err);
}

int rp_json_numbers(const json_t *record, const struct rp_json_field *fields, size_t count,
                    int64_t *ret, struct rp_err *err)
{
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++) {
        const char *path = fields[i].path;
        bool all_bits = fields[i].kind & RP_JSON_ALL_BITS;
        unsigned kind = fields[i].kind & ~(unsigned)RP_JSON_ALL_BITS;
        result = kind == RP_JSON_NEEDED
                     ? read_needed(record, path, all_bits, &ret[i], err)
                     : read_number(record, path, all_bits, kind == RP_JSON_OR_0 ? 0 : INT64_MIN,
                                   &ret[i], err);
    }
    return result;
}

bool rp_json_real(const json_t *value, double *ret)
{
    const char *text = json_string_value(value);

    *ret = text ? strtod(text, NULL) : json_number_value(value);
    return text ? *text && !text[strspn(text, "0123456789")] : json_is_number(value);
}

const char *rp_json_text(const json_t *record, const char *path)
{
    return json_string_value(rp_json_at(record, path));
}
