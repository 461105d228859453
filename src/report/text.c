#include "report/text.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUT_CELLS = 3 }; /* "...", in the place of what is cut out */

void rp_text_utf8(struct rp_buf *buf, const char *text)
{
    while (*text) {
        const size_t length = rp_utf8_length(text, strnlen(text, 4));

        if (length)
            rp_buf_add(buf, text, length);
        else
            rp_buf_puts(buf, "\xef\xbf\xbd"); /* U+FFFD */
        text += length ? length : 1;
    }
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

static unsigned cells_of(const struct rp_escaped *one)
{
    return !one->point ? one->bytes : is_wide(one->point) ? 2 : 1;
}

size_t rp_text_cells(const char *text)
{
    struct rp_escape_at at = {.at = text};
    struct rp_escaped one;
    size_t cells = 0;

    while (rp_escape_next(&at, &one))
        cells += cells_of(&one);
    return cells;
}

size_t rp_text_words(const char *text, size_t max_cells)
{
    struct rp_escape_at at = {.at = text};
    struct rp_escaped one;
    const char *end = text;
    size_t cells = 0, fit = 0;

    for (;;) {
        if (*at.at && *at.at != ' ') {
            rp_escape_next(&at, &one);
            cells += cells_of(&one);
            end = at.at;
            continue;
        }
        if (cells > max_cells && fit)
            return fit;
        fit = (size_t)(end - text);
        if (!rp_escape_next(&at, &one))
            return fit;
        cells++;
    }
}

/** Of @p max_cells, the last @p tail are the end of a text that is too long. */
static void put_cut(struct rp_buf *buf, const char *text, unsigned max_cells, size_t tail)
{
    struct rp_escape_at at = {.at = text};
    struct rp_escaped one;
    size_t all = rp_text_cells(text), done = 0;
    size_t gap = max_cells < CUT_CELLS ? max_cells : CUT_CELLS;
    bool fits = all <= max_cells, cut = false;
    size_t head = fits ? all : max_cells - gap - tail;

    while (rp_escape_next(&at, &one)) {
        if ((!cut && done + cells_of(&one) <= head) || (!fits && done >= all - tail)) {
            rp_buf_add(buf, one.text, one.bytes);
        } else if (!cut) {
            cut = true;
            rp_buf_add(buf, "...", gap);
        }
        done += cells_of(&one);
    }
}

void rp_text_printable(struct rp_buf *buf, const char *text, unsigned max_cells)
{
    /* The head tells the family of a kernel, the tail its template arguments: keep both. */
    put_cut(buf, text, max_cells, max_cells > CUT_CELLS ? (max_cells - CUT_CELLS) / 3 : 0);
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

void rp_text_json(struct rp_buf *buf, const char *text)
{
    if (!text) {
        rp_buf_puts(buf, "null");
        return;
    }
    rp_buf_puts(buf, "\"");
    rp_escape_json(buf, text);
    rp_buf_puts(buf, "\"");
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
