#include "base/json_read.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"

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
            room < UINT32_MAX ? rp_realloc(r->values, room * sizeof *grown) : NULL;
        if (!grown)
            return NULL;
        r->values = grown;
        r->room = room;
    }
    r->values[r->count] = (struct rp_json_value){.size = 1};
    return &r->values[r->count++];
}

/* --- plain records -------------------------------------------------------------------------- */

enum {
    DEEPEST = 16,
    DEEPEST_ANY = 64,
    DIGITS_OF_INT64 = 18 /* whatever they are */,
    DIGITS_OF_UINT64 = 20
};

struct parser {
    struct rp_json_record *record;
    char *at, *end;
    bool any_text; /**< also with escapes, which are replaced where they stand */
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

/* Reads four hexadecimal digits. */
static bool take_unit(struct parser *p, uint32_t *ret)
{
    *ret = 0;
    if (p->end - p->at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = *p->at++, low = (char)(c | 0x20);
        if (c >= '0' && c <= '9')
            *ret = *ret << 4 | (uint32_t)(c - '0');
        else if (low >= 'a' && low <= 'f')
            *ret = *ret << 4 | (uint32_t)(low - 'a' + 10);
        else
            return false;
    }
    return true;
}

static char *put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    } else {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    }
    return to;
}

/* Reads what follows "\u". Half a pair, and zero, which would end the text, become U+FFFD. */
static bool take_code_point(struct parser *p, uint32_t *ret)
{
    uint32_t low;
    char *behind;

    if (!take_unit(p, ret))
        return false;
    behind = p->at;
    if (*ret >= 0xd800 && *ret < 0xdc00 && p->end - p->at > 2 && p->at[0] == '\\' &&
        p->at[1] == 'u') {
        p->at += 2;
        if (!take_unit(p, &low))
            return false;
        if (low >= 0xdc00 && low < 0xe000)
            *ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
        else
            p->at = behind;
    }
    if (*ret == 0 || (*ret >= 0xd800 && *ret < 0xe000))
        *ret = 0xfffd;
    return true;
}

/* Reads an escape, whose character is never longer than the escape. */
static bool take_escape(struct parser *p, char **to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char *found;
    uint32_t c;

    if (++p->at == p->end)
        return false;
    if (*p->at == 'u') {
        p->at++;
        if (!take_code_point(p, &c))
            return false;
        *to = put_utf8(*to, c);
        return true;
    }
    found = *p->at ? strchr(from, *p->at) : NULL;
    if (!found)
        return false;
    *(*to)++ = into[found - from];
    p->at++;
    return true;
}

/* Takes the rest of any text, and writes it without its escapes over itself. */
static bool take_any_text(struct parser *p, char *begin, uint32_t *ret_len)
{
    char *to = p->at;

    while (p->at < p->end && *p->at != '"') {
        if (*p->at != '\\')
            *to++ = *p->at++;
        else if (!take_escape(p, &to))
            return false;
    }
    if (p->at == p->end)
        return false;
    *ret_len = (uint32_t)(to - begin);
    p->at++;
    return true;
}

/* Takes the text between quotes, if it is printable ASCII without escapes. */
static bool take_text(struct parser *p, const char **ret, uint32_t *ret_len)
{
    char *begin;

    if (!take(p, '"'))
        return false;
    begin = p->at;
    while (p->at < p->end && *p->at != '"' && *p->at != '\\' && *p->at >= ' ' && *p->at < 0x7f)
        p->at++;
    *ret = begin;
    if (p->any_text)
        return take_any_text(p, begin, ret_len);
    if (p->at == p->end || *p->at != '"')
        return false;
    *ret_len = (uint32_t)(p->at++ - begin);
    return true;
}

/* A long number is a handle or an address, of which all 64 bits may be used, or negative. */
static bool set_long(struct rp_json_value *v, const char *digits, size_t len, bool negative)
{
    uint64_t bits = 0;

    if (len > DIGITS_OF_UINT64)
        return false;
    for (size_t i = 0; i < len; i++)
        if (__builtin_mul_overflow(bits, 10, &bits) ||
            __builtin_add_overflow(bits, (uint64_t)(digits[i] - '0'), &bits))
            return false;
    if (bits <= INT64_MAX || (negative && bits - 1 <= INT64_MAX)) {
        v->type = RP_JSON_INTEGER;
        v->integer = (int64_t)(negative ? -bits : bits);
        return true;
    }
    if (negative)
        return false;
    v->type = RP_JSON_TEXT;
    v->text = digits;
    v->text_len = (uint32_t)len;
    return true;
}

static bool take_digits(struct parser *p)
{
    const char *begin = p->at;

    while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
        p->at++;
    return p->at > begin;
}

/* Takes what follows the whole part of a number. */
static bool take_decimal(struct parser *p, const char *begin, struct rp_json_value *v)
{
    bool small = true;

    if (*p->at == '.') {
        p->at++;
        if (!take_digits(p))
            return false;
    }
    if (p->at < p->end && (*p->at | 0x20) == 'e') {
        p->at++;
        p->at += p->at < p->end && (*p->at == '+' || *p->at == '-');
        if (!take_digits(p))
            return false;
        small = false;
    }
    if (p->at == p->end || !memchr(",]} \n\t\r", *p->at, 7))
        return false;
    small = small && p->at - begin < DBL_MAX_10_EXP;
    if (!small && !isfinite(strtod(begin, NULL)))
        return false;
    v->type = RP_JSON_DECIMAL;
    v->text = begin;
    v->text_len = (uint32_t)(p->at - begin);
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
    if (p->at == p->end || len == 0 || (*digits == '0' && len > 1))
        return false;
    if (*p->at == '.' || (*p->at | 0x20) == 'e')
        return take_decimal(p, digits - negative, v);
    if (!memchr(",]} \n\t\r", *p->at, 7))
        return false;
    if (len > DIGITS_OF_INT64)
        return set_long(v, digits, len, negative);
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

/* Goes to the next member of the innermost object or array.
 * @return its value, to be read; NULL: out of the ordinary, or the end, and then *ret_closed */
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

/* Takes an object with everything in it. */
static bool take_record(struct parser *p)
{
    uint32_t open[DEEPEST_ANY], depth = 1;
    const uint32_t deepest = p->any_text ? DEEPEST_ANY : DEEPEST;
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
            if (depth == deepest)
                return false;
            v->type = *p->at++ == '{' ? RP_JSON_OBJECT : RP_JSON_ARRAY;
            open[depth++] = (uint32_t)(p->record->count - 1);
        } else if (!take_scalar(p, v)) {
            return false;
        }
    }
    return true;
}

/**
 * Parses the value at the beginning of a text, into which the values then point and in which the
 * ends of texts are made zeros. An integer that only fits without a sign becomes a text.
 * @param any_text  with escapes, too; then the text is not as it was where 0 is returned
 * @return how many bytes it takes; 0: it is not plain, not whole, or too much for the memory, and
 *         the text is as it was
 */
static size_t json_parse_plain(struct rp_json_record *record, char *text, size_t len, bool any_text)
{
    struct parser p = {record, text, text + len, any_text};

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

void rp_json_stream_close(struct rp_json_stream *cut)
{
    if (cut->fd >= 0)
        close(cut->fd);
    rp_buf_free(&cut->raw);
    rp_buf_free(&cut->mended);
}

uint64_t rp_json_stream_offset(const struct rp_json_stream *cut)
{
    return cut->block_offset + cut->at;
}

void rp_json_stream_seek(struct rp_json_stream *cut, uint64_t offset)
{
    cut->block_offset = offset;
    cut->len = cut->at = 0;
}

/* Reads another block when this one is used up. The file may have ended. */
static int refill(struct rp_json_stream *cut, struct rp_err *err)
{
    ssize_t got;

    if (cut->at < cut->len)
        return 0;
    cut->block_offset += cut->len;
    cut->at = cut->len = 0;
    do
        got = pread(cut->fd, cut->block, sizeof cut->block, (off_t)cut->block_offset);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read it");
    cut->len = (size_t)got;
    return 0;
}

static int ended(const struct rp_json_stream *cut, struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT, "it ends after %" PRIu64 " bytes, in the middle of a value",
                   rp_json_stream_offset(cut));
}

static int unexpected(const struct rp_json_stream *cut, const char *wanted, struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT, "it is not JSON: byte %" PRIu64 " should be %s",
                   rp_json_stream_offset(cut) + 1, wanted);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

int rp_json_stream_peek(struct rp_json_stream *cut, char *ret, struct rp_err *err)
{
    for (;;) {
        int result = refill(cut, err);
        if (result < 0)
            return result;
        while (cut->at < cut->len && is_space(cut->block[cut->at]))
            cut->at++;
        if (cut->at < cut->len || cut->len == 0) {
            *ret = cut->len ? cut->block[cut->at] : '\0';
            return 0;
        }
    }
}

/* Reads one character that must be there. */
static int expect(struct rp_json_stream *cut, char wanted, struct rp_err *err)
{
    const char name[] = {'\'', wanted, '\'', '\0'};
    char c;
    int result = rp_json_stream_peek(cut, &c, err);

    if (result < 0)
        return result;
    if (cut->len == 0)
        return ended(cut, err);
    if (c != wanted)
        return unexpected(cut, name, err);
    cut->at++;
    return 0;
}

int rp_json_stream_enter(struct rp_json_stream *cut, char open, struct rp_err *err)
{
    return expect(cut, open, err);
}

int rp_json_stream_next(struct rp_json_stream *cut, char close, bool first, struct rp_err *err)
{
    char c;
    int result = rp_json_stream_peek(cut, &c, err);

    if (result < 0)
        return result;
    if (c == close) {
        cut->at++;
        return 0;
    }
    result = first ? 0 : expect(cut, ',', err);
    return result < 0 ? result : 1;
}

/* --- values -------------------------------------------------------------------------------- */

struct scan {
    size_t depth;
    bool in_string, escaped, done;
};

/* Finds how much of a block belongs to a string that is open; the string may end in it. */
static size_t scan_string(const char *text, size_t len, struct scan *scan)
{
    for (size_t i = 0; i < len; i++) {
        while (i < len && !scan->escaped && text[i] != '\\' && text[i] != '"')
            i++;
        if (i == len)
            break;
        if (scan->escaped) {
            scan->escaped = false;
        } else if (text[i] == '\\') {
            scan->escaped = true;
        } else if (text[i] == '"') {
            scan->in_string = false;
            scan->done = scan->depth == 0;
            return i + 1;
        }
    }
    return len;
}

/* Says whether the character begins or ends something. */
static bool is_special(char c)
{
    return c == '"' || c == '{' || c == '[' || c == '}' || c == ']';
}

/* Finds how much of a block belongs to the value. */
static size_t scan_block(const char *text, size_t len, bool begun, struct scan *scan)
{
    size_t i = 0;

    while (i < len && !scan->done) {
        char c = text[i];
        if (scan->in_string) {
            i += scan_string(text + i, len - i, scan);
            continue;
        }
        if (scan->depth && !is_special(c)) {
            i++;
            continue;
        }
        if (scan->depth == 0 && (begun || i) && (is_space(c) || strchr(",]}:", c))) {
            scan->done = true; /* What follows a number or word ends it. */
            return i;
        }
        i++;
        if (c == '"') {
            scan->in_string = true;
        } else if (c == '{' || c == '[') {
            scan->depth++;
        } else if (c == '}' || c == ']') {
            scan->depth -= scan->depth > 0;
            scan->done = scan->depth == 0;
        }
    }
    return i;
}

static int read_value(struct rp_json_stream *cut, bool keep, struct rp_err *err)
{
    struct scan scan = {0};
    bool begun = false;

    while (!scan.done) {
        int result = refill(cut, err);
        size_t part;
        if (result < 0)
            return result;
        if (cut->len == 0)
            return scan.depth || scan.in_string || !begun ? ended(cut, err) : 0;
        part = scan_block(cut->block + cut->at, cut->len - cut->at, begun, &scan);
        if (keep)
            rp_buf_add(&cut->raw, cut->block + cut->at, part);
        cut->at += part;
        begun = true;
        if (cut->raw.len > RP_JSON_VALUE_BYTES_MAX)
            return rp_fail(err, RP_BAD_INPUT, "a value before byte %" PRIu64 " has more than %d MB",
                           rp_json_stream_offset(cut), RP_JSON_VALUE_BYTES_MAX >> 20);
    }
    return 0;
}

/* --- repairs ------------------------------------------------------------------------------- */

enum { DIGITS_OF_INT64_MAX = 19 };

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.';
}

static bool is_no_number(const char *word, size_t len)
{
    static const char *const words[] = {"NaN",  "nan",  "Infinity",  "inf", "Inf",
                                        "-nan", "-NaN", "-Infinity", "-inf"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == len && memcmp(words[i], word, len) == 0)
            return true;
    return false;
}

/* Says whether an integer fits 64 bits only without a sign. */
static bool is_unsigned(const char *word, size_t len)
{
    char digits[DIGITS_OF_INT64_MAX + 2];

    if (len < DIGITS_OF_INT64_MAX || len >= sizeof digits || strspn(word, "0123456789") < len)
        return false;
    memcpy(digits, word, len);
    digits[len] = '\0';
    errno = 0;
    return strtoull(digits, NULL, 10) > INT64_MAX && !errno;
}

/* Copies the text with every such word replaced.
 * @return false: there is none, and nothing was added */
static bool replace_words(const struct rp_buf *from, struct rp_buf *to)
{
    struct scan scan = {.depth = 1};
    size_t copied = 0, i = 0;

    while (i < from->len) {
        const char *at = from->data + i;
        size_t len = 0;
        if (*at == '"') {
            scan.in_string = true;
            i += 1 + scan_string(at + 1, from->len - i - 1, &scan);
            continue;
        }
        while (is_word(at[len])) /* The text is terminated, so this ends. */
            len++;
        if (len && is_no_number(at, len)) {
            rp_buf_add(to, from->data + copied, i - copied);
            rp_buf_puts(to, "null");
            copied = i + len;
        } else if (len && is_unsigned(at, len)) {
            rp_buf_add(to, from->data + copied, i - copied);
            rp_buf_printf(to, "\"%.*s\"", (int)len, at);
            copied = i + len;
        }
        i += len + !len;
    }
    if (!copied)
        return false;
    rp_buf_add(to, from->data + copied, from->len - copied);
    return true;
}

static void reset(struct rp_buf *buf)
{
    buf->len = 0;
    if (buf->data)
        buf->data[0] = '\0';
}

static const struct rp_buf *repair(struct rp_json_stream *cut)
{
    struct rp_buf *from = &cut->raw, *to = &cut->mended;

    reset(to);
    if (!rp_utf8_is_valid(rp_buf_text(from), from->len)) {
        rp_utf8_fix(to, from->data, from->len);
        reset(from);
        from = to;
        to = &cut->raw;
    }
    return !from->failed && replace_words(from, to) ? to : from;
}

int rp_json_stream_value(struct rp_json_stream *cut, const struct rp_buf **ret, struct rp_err *err)
{
    char c;
    int result = rp_json_stream_peek(cut, &c, err);

    reset(&cut->raw);
    if (result == 0 && c != '\0' && strchr(",]}:", c))
        return unexpected(cut, "the beginning of a value", err);
    if (result == 0)
        result = read_value(cut, ret != NULL, err);
    if (result < 0 || !ret)
        return result;
    *ret = repair(cut);
    return (*ret)->failed ? rp_out_of_memory(err) : 0;
}

bool rp_json_stream_record(struct rp_json_stream *cut, struct rp_json_record *ret)
{
    size_t len = json_parse_plain(ret, cut->block + cut->at, cut->len - cut->at, false);

    cut->at += len;
    return len > 0;
}

int rp_json_stream_object(struct rp_json_stream *cut, struct rp_json_record *ret,
                          struct rp_err *err)
{
    const struct rp_buf *text;
    uint64_t begin;
    char first;
    int result = rp_json_stream_peek(cut, &first, err);

    if (result < 0)
        return result;
    if (first != '{')
        return cut->len ? unexpected(cut, "'{'", err) : ended(cut, err);
    begin = rp_json_stream_offset(cut) + 1;
    if (rp_json_stream_record(cut, ret))
        return 0;
    result = rp_json_stream_value(cut, &text, err);
    if (result < 0)
        return result;
    /* The text is the stream's own, which has no other use for it. */
    if (json_parse_plain(ret, (char *)text->data, text->len, true) == text->len)
        return 0;
    return rp_fail(err, RP_BAD_INPUT,
                   "the object at byte %" PRIu64 " is not JSON, or nested deeper than %d", begin,
                   DEEPEST_ANY);
}

int rp_json_stream_key(struct rp_json_stream *cut, char ret[RP_JSON_KEY_BYTES], struct rp_err *err)
{
    char c;
    int result = rp_json_stream_peek(cut, &c, err);
    size_t len;

    if (result == 0 && c != '"')
        return cut->len ? unexpected(cut, "the beginning of a key", err) : ended(cut, err);
    reset(&cut->raw);
    if (result == 0)
        result = read_value(cut, true, err);
    if (result == 0 && cut->raw.failed)
        result = rp_out_of_memory(err);
    if (result < 0)
        return result;
    len = cut->raw.len - 2; /* The quotes are left out. */
    len = len < RP_JSON_KEY_BYTES ? len : RP_JSON_KEY_BYTES - 1;
    memcpy(ret, cut->raw.data + 1, len);
    ret[len] = '\0';
    return expect(cut, ':', err);
}

json_t *rp_json_parse(const struct rp_buf *text, struct rp_err *err)
{
    json_error_t error;
    json_t *value =
        json_loadb(rp_buf_text(text), text->len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);

    if (value)
        return value;
    if (json_error_code(&error) == json_error_out_of_memory)
        rp_out_of_memory(err);
    else
        rp_fail(err, RP_BAD_INPUT, "it is not JSON: %s", error.text);
    return NULL;
}

/* The last one of several members with the same key counts, as it does for jansson. */
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

/* @param all_bits the number is a handle, of which all 64 bits count; else it has to fit with its
 * sign */
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

int rp_json_required(const struct rp_json_value *record, const char *path, int64_t *ret,
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
        result = kind == RP_JSON_REQUIRED
                     ? read_needed(record, path, all_bits, &ret[i], err)
                     : read_number(record, path, all_bits, kind == RP_JSON_OR_0 ? 0 : INT64_MIN,
                                   &ret[i], err);
    }
    return result;
}

/* Adds the first three digits behind the point, rounded by the fourth. */
static bool add_thousandths(const char *digits, const char *end, uint64_t *sum)
{
    for (int i = 0; i < 3; i++) {
        unsigned digit = digits < end ? (unsigned)(*digits++ - '0') : 0;
        if (__builtin_mul_overflow(*sum, 10, sum) || __builtin_add_overflow(*sum, digit, sum))
            return false;
    }
    return !__builtin_add_overflow(*sum, digits < end && *digits >= '5', sum);
}

static bool thousandths_of_decimal(const char *text, size_t len, int64_t *ret)
{
    const char *end = text + len, *at = text;
    bool negative = *at == '-';
    uint64_t sum = 0;

    if (memchr(text, 'e', len) || memchr(text, 'E', len)) {
        double value = strtod(text, NULL) * 1000;
        *ret = value > -9e18 && value < 9e18 ? llround(value) : 0;
        return value > -9e18 && value < 9e18;
    }
    for (at += negative; at < end && *at != '.'; at++)
        if (__builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, (unsigned)(*at - '0'), &sum))
            return false;
    if (!add_thousandths(at < end ? at + 1 : end, end, &sum) || sum > INT64_MAX)
        return false;
    *ret = negative ? -(int64_t)sum : (int64_t)sum;
    return true;
}

bool rp_json_thousandths(const struct rp_json_value *value, int64_t *ret)
{
    if (!value)
        return false;
    if (value->type == RP_JSON_INTEGER)
        return !__builtin_mul_overflow(value->integer, 1000, ret);
    return value->type == RP_JSON_DECIMAL &&
           thousandths_of_decimal(value->text, value->text_len, ret);
}

bool rp_json_real(const struct rp_json_value *value, double *ret)
{
    const char *text = text_of(value);

    if (value->type == RP_JSON_DECIMAL) {
        *ret = strtod(value->text, NULL);
        return isfinite(*ret);
    }

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

int rp_schema_version_check(const char *version, const char *path, struct rp_err *err)
{
    size_t digits;

    if (!version)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s has no schema_version: it is no result of rocm-perf, or was changed; "
                       "make it again",
                       path);
    digits = strncmp(version, "1.", 2) == 0 ? strspn(version + 2, "0123456789") : 0;
    if (digits && !version[2 + digits])
        return 0;
    return rp_fail(err, RP_BAD_INPUT,
                   "%s is of schema_version %.20s, and this rocm-perf reads 1.x: use the one that "
                   "wrote it, or make the result again",
                   path, version);
}
