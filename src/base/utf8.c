#include "base/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

/* Table 3-7 of the Unicode Standard: what may follow a first byte, and how many bytes in all. */
struct lead {
    unsigned char first, last; /* of the first byte */
    unsigned char second_least, second_most;
    size_t length;
};

static const struct lead leads[] = {
    {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
    {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
    {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
};

size_t rp_utf8_length(const char *text, size_t bytes)
{
    const unsigned char *c = (const unsigned char *)text;

    if (bytes == 0)
        return 0;
    if (c[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
        const struct lead *lead = &leads[i];

        if (c[0] < lead->first || c[0] > lead->last)
            continue;
        if (bytes < lead->length || c[1] < lead->second_least || c[1] > lead->second_most)
            return 0;
        for (size_t k = 2; k < lead->length; k++)
            if (c[k] < 0x80 || c[k] > 0xBF)
                return 0;
        return lead->length;
    }
    return 0;
}

struct range {
    uint32_t first, last;
};

static bool in_ranges(uint32_t point, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

/* Of the Unicode Standard: C1; what is Default_Ignorable_Code_Point (DerivedCoreProperties.txt),
 * which has the marks of direction and the characters without width; line and paragraph separator;
 * interlinear annotations. */
bool rp_utf8_is_invisible(uint32_t point)
{
    static const struct range ranges[] = {
        {0x80, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},   {0x61c, 0x61c},
        {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f}, {0x200b, 0x200f},
        {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164}, {0xfe00, 0xfe0f},
        {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3},
        {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    };

    return point >= 0x80 && in_ranges(point, ranges, sizeof ranges / sizeof *ranges);
}

/* What a CI service leaves out at the beginning of a line. */
static bool is_blank(uint32_t point)
{
    static const struct range ranges[] = {
        {' ', ' '},       {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
        {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000},
    };

    return in_ranges(point, ranges, sizeof ranges / sizeof *ranges);
}

static uint32_t point_of(const char *text, size_t bytes)
{
    const unsigned char *c = (const unsigned char *)text;
    uint32_t point = bytes < 2 ? c[0] : c[0] & (0x7fu >> bytes);

    for (size_t i = 1; i < bytes; i++)
        point = point << 6 | (c[i] & 0x3f);
    return point;
}

/* rp_utf8_length looks at as many bytes as the first one announces, and not beyond one that does
 * not continue it, which the terminator is. */
static size_t length_at(const char *at)
{
    return rp_utf8_length(at, strnlen(at, 4));
}

static bool is_hash_command(const char *text)
{
    if (text[0] != '#' || text[1] != '#')
        return false;
    for (text += 2; (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');)
        text++;
    return *text == '[';
}

static bool is_command(const struct rp_escape_at *at)
{
    if (at->at[0] == ':' && at->at[1] == ':')
        return !at->inside;
    return is_hash_command(at->at);
}

static void write_out(struct rp_escaped *ret, const char *format, uint32_t value)
{
    ret->bytes = (unsigned)snprintf(ret->text, sizeof ret->text, format, value);
    ret->point = 0;
}

bool rp_escape_next(struct rp_escape_at *at, struct rp_escaped *ret)
{
    const size_t length = length_at(at->at);
    const uint32_t point = length ? point_of(at->at, length) : (unsigned char)*at->at;
    const bool command = is_command(at);

    if (!*at->at)
        return false;
    if (length == 0 || point < ' ' || point == 0x7f || command) {
        write_out(ret, "\\x%02x", point);
    } else if (rp_utf8_is_invisible(point)) {
        write_out(ret, point > 0xffff ? "\\U%08x" : "\\u%04x", point);
    } else {
        memcpy(ret->text, at->at, length);
        ret->text[length] = '\0';
        ret->bytes = (unsigned)length;
        ret->point = point;
    }
    at->inside = !ret->point || !is_blank(point);
    at->at += length ? length : 1;
    return true;
}

/* Bytes that need no look: letters, digits and the like. */
static size_t plain_length(const char *text)
{
    size_t n = 0;

    while (text[n] > ' ' && text[n] < 0x7f && text[n] != ':' && text[n] != '#')
        n++;
    return n;
}

void rp_escape(struct rp_buf *buf, const char *text)
{
    struct rp_escape_at at = {.at = text};
    struct rp_escaped one;

    for (;;) {
        const size_t plain = plain_length(at.at);

        rp_buf_add(buf, at.at, plain);
        at.at += plain;
        at.inside |= plain > 0;
        if (!rp_escape_next(&at, &one))
            return;
        rp_buf_add(buf, one.text, one.bytes);
    }
}

void rp_escape_into(char *ret, size_t room, const char *text)
{
    struct rp_escape_at at = {.at = text};
    struct rp_escaped one;
    size_t used = 0;

    while (rp_escape_next(&at, &one) && used + one.bytes < room) {
        memcpy(ret + used, one.text, one.bytes);
        used += one.bytes;
    }
    ret[used] = '\0';
}

/* JSON has no larger ones: beyond 16 bits it takes two. */
static void put_json_point(struct rp_buf *buf, uint32_t point)
{
    if (point > 0xffff)
        rp_buf_printf(buf, "\\u%04x\\u%04x", 0xd800 + ((point - 0x10000) >> 10),
                      0xdc00 + ((point - 0x10000) & 0x3ff));
    else
        rp_buf_printf(buf, "\\u%04x", point);
}

/* Bytes that stand in a JSON string as they are. */
static size_t plain_json_length(const char *text)
{
    size_t n = 0;

    while (text[n] >= ' ' && text[n] < 0x7f && text[n] != '"' && text[n] != '\\' && text[n] != '#')
        n++;
    return n;
}

void rp_escape_json(struct rp_buf *buf, const char *text)
{
    for (;;) {
        const size_t plain = plain_json_length(text);
        size_t length;
        uint32_t point;

        rp_buf_add(buf, text, plain);
        text += plain;
        if (!*text)
            return;
        length = length_at(text);
        point = length ? point_of(text, length) : 0xfffd;
        if (point == '"' || point == '\\')
            rp_buf_printf(buf, "\\%c", (char)point);
        else if (point < ' ' || point == 0x7f || rp_utf8_is_invisible(point) ||
                 is_hash_command(text))
            put_json_point(buf, point);
        else if (length)
            rp_buf_add(buf, text, length);
        else
            rp_buf_puts(buf, "\xef\xbf\xbd");
        text += length ? length : 1;
    }
}

void rp_escape_invisible(struct rp_buf *buf, const char *text)
{
    const char *done = text;

    while (*text) {
        const size_t length = (unsigned char)*text < 0x7f ? 1 : length_at(text);
        const uint32_t point = length ? point_of(text, length) : 0xfffd;

        if (length && point != 0x7f && !rp_utf8_is_invisible(point) && !is_hash_command(text)) {
            text += length;
            continue;
        }
        rp_buf_add(buf, done, (size_t)(text - done));
        put_json_point(buf, point);
        text += length ? length : 1;
        done = text;
    }
    rp_buf_puts(buf, done);
}

/* Bytes of the character at @p text, 0 if there is none (shortest forms, no surrogates). */
static size_t char_bytes(const unsigned char *text, size_t len)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = text[0];
    size_t bytes = lead < 0x80       ? 1
                   : lead >> 5 == 6  ? 2
                   : lead >> 4 == 14 ? 3
                   : lead >> 3 == 30 ? 4
                                     : 0;
    uint32_t point;

    if (bytes <= 1)
        return bytes;
    if (bytes > len)
        return 0;
    point = lead & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if (text[i] >> 6 != 2)
            return 0;
        point = point << 6 | (text[i] & 0x3fu);
    }
    if (point < smallest[bytes] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return 0;
    return bytes;
}

bool rp_utf8_is_valid(const char *text, size_t len)
{
    const unsigned char *at = (const unsigned char *)text;

    while (len) {
        size_t bytes = char_bytes(at, len);
        if (!bytes)
            return false;
        at += bytes;
        len -= bytes;
    }
    return true;
}

void rp_utf8_fix(struct rp_buf *ret, const char *text, size_t len)
{
    while (len) {
        size_t bytes = char_bytes((const unsigned char *)text, len);
        if (bytes)
            rp_buf_add(ret, text, bytes);
        else
            rp_buf_puts(ret, "\xef\xbf\xbd");
        bytes += !bytes;
        text += bytes;
        len -= bytes;
    }
}
