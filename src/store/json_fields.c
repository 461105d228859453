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

int rp_json_number(const json_t *record, const char *path, int64_t if_none, int64_t *ret,
                   struct rp_err *err)
{
    const json_t *value = rp_json_at(record, path);
    const char *text;
    char *end;

    if (json_is_object(value)) {
        const json_t *handle = json_object_get(value, "handle");
        value = handle ? handle : json_object_get(value, "value");
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
        *ret = (int64_t)strtoull(text, &end, 0);
        if (!*end && !errno)
            return 0;
    }
    return rp_fail(err, RP_BAD_INPUT, "its %s is no whole number", path);
}

int rp_json_needed(const json_t *record, const char *path, int64_t *ret, struct rp_err *err)
{
    if (!rp_json_at(record, path))
        return rp_fail(err, RP_BAD_INPUT, "it has no %s", path);
    return rp_json_number(record, path, 0, ret, err);
}

int rp_json_numbers(const json_t *record, const struct rp_json_field *fields, size_t count,
                    int64_t *ret, struct rp_err *err)
{
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++)
        result = fields[i].kind == RP_JSON_NEEDED
                     ? rp_json_needed(record, fields[i].path, &ret[i], err)
                     : rp_json_number(record, fields[i].path,
                                      fields[i].kind == RP_JSON_OR_0 ? 0 : INT64_MIN, &ret[i], err);
    return result;
}

const char *rp_json_text(const json_t *record, const char *path)
{
    return json_string_value(rp_json_at(record, path));
}
