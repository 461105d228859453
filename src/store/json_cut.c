#include "store/json_cut.h"

#include "base/err.h"
#include "store/gzip.h"
#include "store/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int rp_json_cut_open(struct rp_json_cut *cut, const char *path, uint64_t peek, struct rp_err *err)
{
    struct stat st;
    int result = rp_plain_open(path, peek, &cut->fd, err);

    if (result < 0)
        return result;
    if (fstat(cut->fd, &st) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read it");
    cut->size_bytes = (uint64_t)st.st_size;
    return 0;
}

void rp_json_cut_close(struct rp_json_cut *cut)
{
    if (cut->fd >= 0)
        close(cut->fd);
    rp_buf_free(&cut->raw);
    rp_buf_free(&cut->mended);
}

uint64_t rp_json_cut_offset(const struct rp_json_cut *cut)
{
    return cut->block_offset + cut->at;
}

void rp_json_cut_seek(struct rp_json_cut *cut, uint64_t offset)
{
    cut->block_offset = offset;
    cut->len = cut->at = 0;
}

/* Another block when this one is used up; there may be none. */
static int refill(struct rp_json_cut *cut, struct rp_err *err)
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

static int ended(const struct rp_json_cut *cut, struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT, "it ends after %" PRIu64 " bytes, in the middle of a value",
                   rp_json_cut_offset(cut));
}

static int unexpected(const struct rp_json_cut *cut, const char *wanted, struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT, "it is no JSON: byte %" PRIu64 " should be %s",
                   rp_json_cut_offset(cut) + 1, wanted);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

int rp_json_cut_peek(struct rp_json_cut *cut, char *ret, struct rp_err *err)
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
static int expect(struct rp_json_cut *cut, char wanted, struct rp_err *err)
{
    const char name[] = {'\'', wanted, '\'', '\0'};
    char c;
    int result = rp_json_cut_peek(cut, &c, err);

    if (result < 0)
        return result;
    if (cut->len == 0)
        return ended(cut, err);
    if (c != wanted)
        return unexpected(cut, name, err);
    cut->at++;
    return 0;
}

int rp_json_cut_enter(struct rp_json_cut *cut, char open, struct rp_err *err)
{
    return expect(cut, open, err);
}

int rp_json_cut_next(struct rp_json_cut *cut, char close, bool first, struct rp_err *err)
{
    char c;
    int result = rp_json_cut_peek(cut, &c, err);

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

/* How much of a block belongs to a string that is open; it may end there. */
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

/* Begins or ends something. */
static bool is_special(char c)
{
    return c == '"' || c == '{' || c == '[' || c == '}' || c == ']';
}

/* How much of a block belongs to the value. */
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
            scan->done = true; /* behind a number or word */
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

static int read_value(struct rp_json_cut *cut, bool keep, struct rp_err *err)
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
                           rp_json_cut_offset(cut), RP_JSON_VALUE_BYTES_MAX >> 20);
    }
    return 0;
}

/* --- mending ------------------------------------------------------------------------------- */

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

/* An integer that only fits without a sign. */
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

/* The text with every such word replaced; false: there is none, and nothing was added. */
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
        while (is_word(at[len])) /* the text is terminated */
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

static const struct rp_buf *mend(struct rp_json_cut *cut)
{
    struct rp_buf *from = &cut->raw, *to = &cut->mended;

    reset(to);
    if (!rp_utf8_valid(rp_buf_text(from), from->len)) {
        rp_utf8_mend(to, from->data, from->len);
        reset(from);
        from = to;
        to = &cut->raw;
    }
    return !from->failed && replace_words(from, to) ? to : from;
}

int rp_json_cut_value(struct rp_json_cut *cut, const struct rp_buf **ret, struct rp_err *err)
{
    char c;
    int result = rp_json_cut_peek(cut, &c, err);

    reset(&cut->raw);
    if (result == 0 && c != '\0' && strchr(",]}:", c))
        return unexpected(cut, "the beginning of a value", err);
    if (result == 0)
        result = read_value(cut, ret != NULL, err);
    if (result < 0 || !ret)
        return result;
    *ret = mend(cut);
    return (*ret)->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

bool rp_json_cut_plain(struct rp_json_cut *cut, struct rp_json_record *ret)
{
    size_t len = rp_json_parse_plain(ret, cut->block + cut->at, cut->len - cut->at);

    cut->at += len;
    return len > 0;
}

int rp_json_cut_key(struct rp_json_cut *cut, char ret[RP_JSON_KEY_BYTES], struct rp_err *err)
{
    char c;
    int result = rp_json_cut_peek(cut, &c, err);
    size_t len;

    if (result == 0 && c != '"')
        return cut->len ? unexpected(cut, "the beginning of a key", err) : ended(cut, err);
    reset(&cut->raw);
    if (result == 0)
        result = read_value(cut, true, err);
    if (result == 0 && cut->raw.failed)
        result = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (result < 0)
        return result;
    len = cut->raw.len - 2; /* without the quotes */
    len = len < RP_JSON_KEY_BYTES ? len : RP_JSON_KEY_BYTES - 1;
    memcpy(ret, cut->raw.data + 1, len);
    ret[len] = '\0';
    return expect(cut, ':', err);
}
