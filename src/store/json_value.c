#include "store/json_value.h"

#include <stdlib.h>
#include <string.h>

void rp_json_record_free(struct rp_json_record *record)
{
    free(record->values);
    *record = (struct rp_json_record){0};
}

static struct rp_json_value *add_value(struct rp_json_record *r)
{
    if (r->count == r->room) {
        size_t room = r->room ? r->room * 2 : 256;
        struct rp_json_value *grown =
            room < UINT32_MAX ? realloc(r->values, room * sizeof *grown) : NULL;
        if (!grown)
            return NULL;
        r->values = grown;
        r->room = room;
    }
    r->values[r->count] = (struct rp_json_value){.size = 1};
    return &r->values[r->count++];
}

/* --- plain records -------------------------------------------------------------------------- */

enum { DEEPEST = 16, DIGITS_OF_INT64 = 18 /* whatever they are */, DIGITS_OF_UINT64 = 20 };

struct parser {
    struct rp_json_record *record;
    char *at, *end;
};

static void skip_space(struct parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
}

static bool take(struct parser *p, char wanted)
{
    skip_space(p);
    if (p->at == p->end || *p->at != wanted)
        return false;
    p->at++;
    return true;
}

/* The text between quotes, printable ASCII without escapes. */
static bool take_text(struct parser *p, const char **ret, uint32_t *ret_len)
{
    char *begin;

    if (!take(p, '"'))
        return false;
    begin = p->at;
    while (p->at < p->end && *p->at != '"' && *p->at != '\\' && *p->at >= ' ' && *p->at < 0x7f)
        p->at++;
    if (p->at == p->end || *p->at != '"')
        return false;
    *ret = begin;
    *ret_len = (uint32_t)(p->at++ - begin);
    return true;
}

/* A long one: a handle or an address, of which all 64 bits may be used. */
static bool set_long(struct rp_json_value *v, const char *digits, size_t len)
{
    uint64_t bits = 0;

    if (len > DIGITS_OF_UINT64)
        return false;
    for (size_t i = 0; i < len; i++)
        if (__builtin_mul_overflow(bits, 10, &bits) ||
            __builtin_add_overflow(bits, (uint64_t)(digits[i] - '0'), &bits))
            return false;
    if (bits <= INT64_MAX) {
        v->type = RP_JSON_INTEGER;
        v->integer = (int64_t)bits;
        return true;
    }
    v->type = RP_JSON_TEXT;
    v->text = digits;
    v->text_len = (uint32_t)len;
    return true;
}

static bool take_number(struct parser *p, struct rp_json_value *v)
{
    bool negative = *p->at == '-';
    const char *digits = p->at += negative;
    int64_t number = 0;
    size_t len;

    while (p->at < p->end && *p->at >= '0' && *p->at <= '9') {
        if (p->at - digits < DIGITS_OF_INT64)
            number = number * 10 + (*p->at - '0');
        p->at++;
    }
    len = (size_t)(p->at - digits);
    if (p->at == p->end || len == 0 || (*digits == '0' && len > 1) ||
        !memchr(",]} \n\t\r", *p->at, 7))
        return false;
    if (len > DIGITS_OF_INT64)
        return !negative && set_long(v, digits, len);
    v->type = RP_JSON_INTEGER;
    v->integer = negative ? -number : number;
    return true;
}

static bool take_word(struct parser *p, struct rp_json_value *v)
{
    static const struct {
        const char *word;
        enum rp_json_type type;
        bool is;
    } words[] = {{"null", RP_JSON_NULL, false},
                 {"true", RP_JSON_BOOLEAN, true},
                 {"false", RP_JSON_BOOLEAN, false}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i].word);
        if ((size_t)(p->end - p->at) <= len || memcmp(p->at, words[i].word, len) != 0 ||
            !memchr(",]} \n\t\r", p->at[len], 7))
            continue;
        p->at += len;
        v->type = words[i].type;
        v->integer = words[i].is;
        return true;
    }
    return false;
}

/* Goes to the next member of the innermost object or array. @return its value, to be read; NULL:
 * out of the ordinary, or the end, and then *ret_closed */
static struct rp_json_value *begin_member(struct parser *p, uint32_t container, bool *ret_closed)
{
    bool is_object = p->record->values[container].type == RP_JSON_OBJECT;
    bool is_first = p->record->count == (size_t)container + 1;
    struct rp_json_value *v;

    *ret_closed = take(p, is_object ? '}' : ']');
    if (*ret_closed || (!is_first && !take(p, ',')) || !(v = add_value(p->record)))
        return NULL;
    if (is_object && (!take_text(p, &v->key, &v->key_len) || !take(p, ':')))
        return NULL;
    return v;
}

static bool take_scalar(struct parser *p, struct rp_json_value *v)
{
    if (*p->at == '"') {
        v->type = RP_JSON_TEXT;
        return take_text(p, &v->text, &v->text_len);
    }
    return *p->at == '-' || (*p->at >= '0' && *p->at <= '9') ? take_number(p, v) : take_word(p, v);
}

/* An object with everything in it. */
static bool take_record(struct parser *p)
{
    uint32_t open[DEEPEST], depth = 1;
    struct rp_json_value *v = add_value(p->record);

    if (!v || !take(p, '{'))
        return false;
    v->type = RP_JSON_OBJECT;
    open[0] = 0;
    while (depth) {
        bool closed;
        v = begin_member(p, open[depth - 1], &closed);
        if (closed) {
            p->record->values[open[depth - 1]].size =
                (uint32_t)(p->record->count - open[depth - 1]);
            depth--;
            continue;
        }
        skip_space(p);
        if (!v || p->at == p->end)
            return false;
        if (*p->at == '{' || *p->at == '[') {
            if (depth == DEEPEST)
                return false;
            v->type = *p->at++ == '{' ? RP_JSON_OBJECT : RP_JSON_ARRAY;
            open[depth++] = (uint32_t)(p->record->count - 1);
        } else if (!take_scalar(p, v)) {
            return false;
        }
    }
    return true;
}

size_t rp_json_parse_plain(struct rp_json_record *record, char *text, size_t len)
{
    struct parser p = {record, text, text + len};

    record->count = 0;
    if (!take_record(&p))
        return 0;
    for (size_t i = 0; i < record->count; i++)
        if (record->values[i].type == RP_JSON_TEXT)
            text[record->values[i].text - text + record->values[i].text_len] = '\0';
    return (size_t)(p.at - text);
}

/* --- what jansson has parsed ---------------------------------------------------------------- */

static bool copy(struct rp_json_record *r, const char *key, const json_t *from);

static bool copy_members(struct rp_json_record *r, const json_t *from)
{
    bool done = true;

    if (json_is_object(from)) {
        for (void *at = json_object_iter((json_t *)from); at && done;
             at = json_object_iter_next((json_t *)from, at))
            done = copy(r, json_object_iter_key(at), json_object_iter_value(at));
    } else {
        for (size_t i = 0; i < json_array_size(from) && done; i++)
            done = copy(r, NULL, json_array_get(from, i));
    }
    return done;
}

static enum rp_json_type type_of(const json_t *from)
{
    switch (json_typeof(from)) {
    case JSON_OBJECT:
        return RP_JSON_OBJECT;
    case JSON_ARRAY:
        return RP_JSON_ARRAY;
    case JSON_STRING:
        return RP_JSON_TEXT;
    case JSON_INTEGER:
        return RP_JSON_INTEGER;
    case JSON_REAL:
        return RP_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return RP_JSON_BOOLEAN;
    case JSON_NULL:
        break;
    }
    return RP_JSON_NULL;
}

/* jansson nests no deeper than 2048 (JSON_PARSER_MAX_DEPTH). */
static bool copy(struct rp_json_record *r, const char *key, const json_t *from)
{
    size_t index = r->count;
    struct rp_json_value *v = add_value(r);

    if (!v)
        return false;
    v->key = key;
    v->key_len = key ? (uint32_t)strlen(key) : 0;
    v->type = type_of(from);
    if (v->type == RP_JSON_TEXT)
        v->text = json_string_value(from);
    else if (v->type == RP_JSON_REAL)
        v->real = json_real_value(from);
    else if (v->type == RP_JSON_INTEGER)
        v->integer = json_integer_value(from);
    else if (v->type == RP_JSON_BOOLEAN)
        v->integer = json_is_true(from);
    if (v->type >= RP_JSON_OBJECT && !copy_members(r, from))
        return false;
    r->values[index].size = (uint32_t)(r->count - index);
    return true;
}

bool rp_json_copy(struct rp_json_record *record, const json_t *from)
{
    record->count = 0;
    return copy(record, NULL, from);
}
