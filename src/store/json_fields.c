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

/* Of members with the same key the last one counts, as it does for jansson. */
static const struct rp_json_value *member(const struct rp_json_value *object, const char *key,
                                          size_t len)
{
    const struct rp_json_value *found = NULL;

    if (object->type != RP_JSON_OBJECT)
        return NULL;
    for (const struct rp_json_value *v = rp_json_first(object); v; v = rp_json_next(object, v))
        if (v->key_len == len && memcmp(v->key, key, len) == 0)
            found = v;
    return found;
}

const struct rp_json_value *rp_json_at(const struct rp_json_value *record, const char *path)
{
    while (record && *path) {
        size_t len = (size_t)(strchrnul(path, '.') - path);
        record = member(record, path, len);
        path += len + (path[len] == '.');
    }
    return record && record->type == RP_JSON_NULL ? NULL : record;
}

static const char *text_of(const struct rp_json_value *value)
{
    return value && value->type == RP_JSON_TEXT ? value->text : NULL;
}

/* @param all_bits  a handle, of which all 64 bits count; else the number has to fit with its sign
 */
static int read_number(const struct rp_json_value *record, const char *path, bool all_bits,
                       int64_t if_none, int64_t *ret, struct rp_err *err)
{
    const struct rp_json_value *value = rp_json_at(record, path);
    const char *text;
    char *end;

    if (!value) {
        *ret = if_none;
        return 0;
    }
    if (value->type == RP_JSON_OBJECT) {
        const struct rp_json_value *handle = member(value, "handle", strlen("handle"));
        value = handle ? handle : member(value, "value", strlen("value"));
        all_bits = true;
    }
    text = text_of(value);
    if (value && value->type == RP_JSON_INTEGER) {
        *ret = value->integer;
        return 0;
    }
    errno = 0;
    if (text && *text) {
        uint64_t bits = strtoull(text, &end, 0);
        if (!*end && (errno == ERANGE || (bits > INT64_MAX && !all_bits && *text != '-')))
            return rp_fail(err, RP_BAD_INPUT, "its %s %s is too large", path, text);
        *ret = (int64_t)bits;
        if (!*end && !errno)
            return 0;
    }
    return rp_fail(err, RP_BAD_INPUT, "its %s is no whole number", path);
}

int rp_json_number(const struct rp_json_value *record, const char *path, int64_t if_none,
                   int64_t *ret, struct rp_err *err)
{
    return read_number(record, path, true, if_none, ret, err);
}

static int read_needed(const struct rp_json_value *record, const char *path, bool all_bits,
                       int64_t *ret, struct rp_err *err)
{
    if (!rp_json_at(record, path))
        return rp_fail(err, RP_BAD_INPUT, "it has no %s", path);
    return read_number(record, path, all_bits, 0, ret, err);
}

int rp_json_needed(const struct rp_json_value *record, const char *path, int64_t *ret,
                   struct rp_err *err)
{
    return read_needed(record, path, true, ret, err);
}

int rp_json_numbers(const struct rp_json_value *record, const struct rp_json_field *fields,
                    size_t count, int64_t *ret, struct rp_err *err)
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

bool rp_json_real(const struct rp_json_value *value, double *ret)
{
    const char *text = text_of(value);

    if (text) {
        *ret = strtod(text, NULL);
        return *text && !text[strspn(text, "0123456789")];
    }
    *ret = value->type == RP_JSON_REAL      ? value->real
           : value->type == RP_JSON_INTEGER ? (double)value->integer
                                            : 0;
    return value->type == RP_JSON_REAL || value->type == RP_JSON_INTEGER;
}

const char *rp_json_text(const struct rp_json_value *record, const char *path)
{
    return text_of(rp_json_at(record, path));
}
