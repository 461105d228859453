#include "report/text.h"

#include "base/buf.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t replacement = 0xfffd;

enum { CUT_CELLS = 3 }; /* "...", in the place of what is cut out */

/** Reads one code point and moves on; a byte that begins none gives the replacement. */
static uint32_t next_point(const unsigned char **at)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = *at;
    uint32_t point = *p;
    unsigned len = point < 0x80 ? 1 : point >= 0xf0 ? 4 : point >= 0xe0 ? 3 : 2;

    *at = p + 1;
    if (len == 1)
        return point;
    if (point < 0xc0 || point > 0xf4)
        return replacement;
    point &= 0xffu >> (len + 1);
    for (unsigned i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80) /* also stops at the terminator */
            return replacement;
        point = point << 6 | (p[i] & 0x3f);
    }
    if (point < least[len] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        return replacement;
    *at = p + len;
    return point;
}

static void put_point(struct rp_buf *buf, uint32_t point)
{
    unsigned char bytes[4];
    size_t len;

    if (point < 0x80) {
        bytes[0] = (unsigned char)point;
        len = 1;
    } else if (point < 0x800) {
        bytes[0] = (unsigned char)(0xc0 | point >> 6);
        len = 2;
    } else if (point < 0x10000) {
        bytes[0] = (unsigned char)(0xe0 | point >> 12);
        len = 3;
    } else {
        bytes[0] = (unsigned char)(0xf0 | point >> 18);
        len = 4;
    }
    for (size_t i = 1; i < len; i++)
        bytes[i] = (unsigned char)(0x80 | (point >> 6 * (len - 1 - i) & 0x3f));
    rp_buf_add(buf, bytes, len);
}

void rp_text_utf8(struct rp_buf *buf, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at)
        put_point(buf, next_point(&at));
}

struct range {
    uint32_t first, last;
};

static bool in_ranges(uint32_t point, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    }
    return false;
}

/** Controls, and the marks that reorder or hide text. */
static bool is_unprintable(uint32_t point)
{
    static const struct range ranges[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x200b, 0x200f},
        {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
    };

    return in_ranges(point, ranges, sizeof ranges / sizeof ranges[0]);
}

/** East Asian wide characters and pictographs, to the block. */
static bool is_wide(uint32_t point)
{
    static const struct range ranges[] = {
        {0x1100, 0x115f}, {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
        {0xf900, 0xfaff}, {0xfe30, 0xfe6f},   {0xff00, 0xff60},
        {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
    };

    return in_ranges(point, ranges, sizeof ranges / sizeof ranges[0]);
}

static unsigned cells_of(uint32_t point)
{
    return !is_unprintable(point) && is_wide(point) ? 2 : 1;
}

size_t rp_text_cells(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t cells = 0;

    while (*at)
        cells += cells_of(next_point(&at));
    return cells;
}

size_t rp_text_words(const char *text, size_t max_cells)
{
    const unsigned char *at = (const unsigned char *)text, *end = at;
    size_t cells = 0, fit = 0;

    for (;;) {
        if (*at && *at != ' ') {
            cells += cells_of(next_point(&at));
            end = at;
            continue;
        }
        if (cells > max_cells && fit)
            return fit;
        fit = (size_t)(end - (const unsigned char *)text);
        if (!*at)
            return fit;
        at++;
        cells++;
    }
}

/** Of @p max_cells, the last @p tail are the end of a text that is too long. */
static void put_cut(struct rp_buf *buf, const char *text, unsigned max_cells, size_t tail)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t all = rp_text_cells(text), done = 0;
    size_t gap = max_cells < CUT_CELLS ? max_cells : CUT_CELLS;
    bool fits = all <= max_cells, cut = false;
    size_t head = fits ? all : max_cells - gap - tail;

    while (*at) {
        uint32_t point = next_point(&at);
        unsigned cells = cells_of(point);

        if (done + cells <= head || (!fits && done >= all - tail)) {
            put_point(buf, is_unprintable(point) ? '?' : point);
        } else if (!cut) {
            cut = true;
            rp_buf_add(buf, "...", gap);
        }
        done += cells;
    }
}

void rp_text_printable(struct rp_buf *buf, const char *text, unsigned max_cells)
{
    /* The head tells the family of a kernel, the tail its template arguments: keep both. */
    put_cut(buf, text, max_cells, max_cells > CUT_CELLS ? (max_cells - CUT_CELLS) / 3 : 0);
}

void rp_text_spelled(struct rp_buf *buf, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at) {
        const uint32_t point = next_point(&at);

        if (!is_unprintable(point))
            put_point(buf, point);
        else
            rp_buf_printf(buf, point < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)point);
    }
}

void rp_text_printable_head(struct rp_buf *buf, const char *text, unsigned max_cells)
{
    put_cut(buf, text, max_cells, 0);
}

double rp_text_round6(double value)
{
    double rounded = round(value * 1e6) / 1e6;

    return isfinite(rounded) ? rounded : value;
}

static bool is_plain(const char *text)
{
    for (; *text; text++)
        if (*text < 0x20 || *text >= 0x7f || *text == '"' || *text == '\\')
            return false;
    return true;
}

void rp_text_json(struct rp_buf *buf, const char *text)
{
    rp_autobuf clean = {0};

    if (!text) {
        rp_buf_puts(buf, "null");
        return;
    }
    rp_buf_puts(buf, "\"");
    if (is_plain(text)) {
        rp_buf_puts(buf, text);
    } else {
        rp_text_utf8(&clean, text);
        for (const char *p = rp_buf_text(&clean); *p; p++) {
            if (*p == '"' || *p == '\\')
                rp_buf_printf(buf, "\\%c", *p);
            else if ((unsigned char)*p < 0x20)
                rp_buf_printf(buf, "\\u%04x", (unsigned)*p);
            else
                rp_buf_add(buf, p, 1);
        }
    }
    rp_buf_puts(buf, "\"");
    buf->failed |= clean.failed;
}

void rp_text_json_timing(struct rp_buf *buf, const char *model, uint32_t version)
{
    if (!model) {
        rp_buf_puts(buf, "null");
        return;
    }
    rp_buf_puts(buf, "{\"model\": ");
    rp_text_json(buf, model);
    rp_buf_printf(buf, ", \"version\": %" PRIu32 "}", version);
}

void rp_text_json_number(struct rp_buf *buf, double value)
{
    char room[40];

    if (value >= 0 && value < 9e15 && value == (double)(int64_t)value) {
        rp_buf_printf(buf, "%" PRId64, (int64_t)value);
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(room, sizeof room, "%.*g", digits, value);
        if (strtod(room, NULL) == value)
            break;
    }
    rp_buf_puts(buf, room);
}
