#include "report/report.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/units.h"
#include "base/utf8.h"

enum { CUT_CELLS = 3 }; /**< "...", in the place of what is cut out */

static unsigned cells_of(const struct rp_escaped *one)
{
    return !one->point ? one->bytes : rp_utf8_width(one->point);
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

/**
 * Counts the bytes of the words at the beginning of @p text that fit into so many cells, without
 * the spaces behind them. It takes one word at least, however long it is. 0 means that there is
 * none.
 */
static size_t text_words(const char *text, size_t max_cells)
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

/** Cuts a text that is too long: the last @p tail of @p max_cells are its end. */
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
    /* The head shows the family of a kernel, the tail its template arguments, so both are kept. */
    put_cut(buf, text, max_cells, max_cells > CUT_CELLS ? (max_cells - CUT_CELLS) / 3 : 0);
}

struct rp_json_writer rp_report_json(struct rp_buf *buf)
{
    struct rp_json_writer json = {.out = buf, .indent = 2, .levels = 1};

    rp_json_add_object(&json, NULL);
    return json;
}

int rp_report_json_end(struct rp_json_writer *json, struct rp_err *err)
{
    rp_json_end(json);
    rp_buf_puts(json->out, "\n");
    return rp_report_end(json->out, err);
}

void rp_report_quantity(struct rp_json_writer *json, const char *key, struct rp_quantity quantity)
{
    rp_json_add_number(json, key, quantity.known ? rp_round6(quantity.value) : NAN);
}

void rp_report_timing(struct rp_json_writer *json, const char *key, const char *model,
                      uint32_t version, uint32_t clock_mhz)
{
    if (!model) {
        rp_json_add_null(json, key);
        return;
    }
    rp_json_add_object(json, key);
    if (clock_mhz)
        rp_json_add_count(json, "clock_mhz", clock_mhz);
    rp_json_add_text(json, "model", model);
    rp_json_add_count(json, "version", version);
    rp_json_end(json);
}

void rp_by_name(const char *const *names, unsigned count, unsigned *ret_order)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned at = i;

        for (; at > 0 && strcmp(names[ret_order[at - 1]], names[i]) > 0; at--)
            ret_order[at] = ret_order[at - 1];
        ret_order[at] = i;
    }
}

int rp_report_end(const struct rp_buf *buf, struct rp_err *err)
{
    return buf->failed ? rp_out_of_memory(err) : 0;
}

/** Changes the colour from here on. */
static void page_ink(const struct rp_page *page, enum rp_ink ink)
{
    static const char *const codes[] = {
        [RP_INK_PLAIN] = "\033[0m", [RP_INK_BOLD] = "\033[1m",    [RP_INK_DIM] = "\033[2m",
        [RP_INK_RED] = "\033[31m",  [RP_INK_YELLOW] = "\033[33m", [RP_INK_GREEN] = "\033[32m",
    };

    if (page->colour)
        rp_buf_puts(page->out, codes[ink]);
}

/* Formats the text of a line, before it is made printable. */
static void format(const struct rp_page *page, struct rp_buf *text, const char *fmt, va_list ap)
{
    rp_buf_vprintf(text, fmt, ap);
    if (text->failed)
        page->out->failed = true;
}

static struct rp_page page_of(struct rp_buf *out, struct rp_term_style style, unsigned least_width)
{
    enum { NO_WIDTH = 1 << 30 };
    const unsigned width = style.width ? style.width : NO_WIDTH;

    return (struct rp_page){.out = out,
                            .colour = style.colour,
                            .utf8 = style.utf8,
                            .verbose = style.verbose,
                            .width = width < least_width ? least_width : width};
}

struct rp_page rp_page_of(struct rp_buf *out, struct rp_term_style style, unsigned least_width)
{
    return page_of(out, style, least_width);
}

struct rp_page rp_page_of_words(struct rp_buf *out, struct rp_term_style style)
{
    enum { LEAST_WIDTH = 40 };

    return page_of(out, style, LEAST_WIDTH);
}

/** Writes words without newlines.
 * @return by how much the next line is indented */
static unsigned put_words(const struct rp_page *page, enum rp_ink how, unsigned indent,
                          unsigned next, const char *text)
{
    do {
        /* Spaces at the beginning of a line are columns of a table, and stay. */
        const size_t blanks = strspn(text, " ");
        const size_t room = page->width > indent + blanks ? page->width - indent - blanks : 1;
        size_t bytes = blanks + text_words(text + blanks, room);

        rp_buf_printf(page->out, "%*s", (int)indent, "");
        if (how != RP_INK_PLAIN && bytes)
            page_ink(page, how);
        rp_buf_add(page->out, text, bytes);
        if (how != RP_INK_PLAIN && bytes)
            page_ink(page, RP_INK_PLAIN);
        rp_buf_puts(page->out, "\n");
        text += bytes;
        text += strspn(text, " ");
        indent = next;
    } while (*text);
    return next;
}

enum { HANG = 2 }; /**< columns by which further lines of a table's row are indented */

void rp_page_text(const struct rp_page *page, enum rp_ink how, unsigned indent, const char *text)
{
    rp_autobuf clean = {0};

    rp_text_printable(&clean, text, UINT_MAX);
    page->out->failed |= clean.failed;
    put_words(page, how, indent,
              indent + (unsigned)strspn(rp_buf_text(&clean), " ") % (page->width / 2) + HANG,
              rp_buf_text(&clean));
}

void rp_page_line(const struct rp_page *page, enum rp_ink how, unsigned indent, const char *fmt,
                  ...)
{
    rp_autobuf text = {0};
    va_list ap;

    va_start(ap, fmt);
    format(page, &text, fmt, ap);
    va_end(ap);
    rp_page_text(page, how, indent, rp_buf_text(&text));
}

void rp_page_named(const struct rp_page *page, enum rp_ink how, unsigned indent, const char *name,
                   const char *fmt, ...)
{
    enum { NAME_INDENT = 6 };
    rp_autobuf text = {0};
    va_list ap;

    va_start(ap, fmt);
    format(page, &text, fmt, ap);
    va_end(ap);
    if (indent + rp_text_cells(rp_buf_text(&text)) + rp_text_cells(name) <= page->width) {
        rp_buf_puts(&text, name);
        rp_page_text(page, how, indent, rp_buf_text(&text));
    } else {
        rp_page_text(page, how, indent, rp_buf_text(&text));
        rp_page_text(page, how, indent + NAME_INDENT, name);
    }
    page->out->failed |= text.failed;
}

void rp_page_bar(const struct rp_page *page, double share, unsigned cells, struct rp_buf *to)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const double filled = share > 0 ? fmin(share, 1) * cells : 0;
    const unsigned parts = (unsigned)lround(filled * (page->utf8 ? 8 : 1));
    const unsigned full = page->utf8 ? parts / 8 : parts, rest = page->utf8 ? parts % 8 : 0;

    for (unsigned i = 0; i < full; i++)
        rp_buf_puts(to, page->utf8 ? "█" : "#");
    rp_buf_puts(to, eighths[rest]);
    rp_buf_printf(to, "%*s", (int)(cells - full - (rest > 0)), "");
}

/** Says whether a shell takes the word as it is. */
static bool is_plain_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:,=@%+";

    return *word && strspn(word, plain) == strlen(word);
}

void rp_shell_word(struct rp_buf *to, const char *word)
{
    rp_autobuf clean = {0};
    bool odd;

    rp_escape(&clean, word);
    odd = strcmp(rp_buf_text(&clean), word) != 0;
    if (is_plain_word(word)) {
        rp_buf_puts(to, word);
        return;
    }
    rp_buf_puts(to, odd ? "$'" : "'");
    for (; *word; word++) {
        const unsigned char c = (unsigned char)*word;

        if (odd && (c < ' ' || c > '~'))
            rp_buf_printf(to, "\\x%02x", c);
        else if (odd && (c == '\'' || c == '\\'))
            rp_buf_printf(to, "\\%c", c);
        else if (c == '\'')
            rp_buf_puts(to, "'\\''");
        else
            rp_buf_add(to, word, 1);
    }
    rp_buf_puts(to, "'");
    to->failed |= clean.failed;
}

void rp_page_next(const struct rp_page *page, const char *const *words)
{
    rp_autobuf text = {0};

    rp_buf_puts(&text, "Next:");
    for (; *words; words++) {
        rp_buf_puts(&text, " ");
        rp_shell_word(&text, *words);
    }
    page->out->failed |= text.failed;
    /* It is not wrapped: a line that is pasted must be one. */
    rp_buf_printf(page->out, "%s\n", rp_buf_text(&text));
}

void rp_page_words(const struct rp_page *page, enum rp_ink how, unsigned indent, unsigned hang,
                   const char *fmt, ...)
{
    rp_autobuf text = {0};
    char *line, *rest;
    unsigned at = indent;
    va_list ap;

    va_start(ap, fmt);
    format(page, &text, fmt, ap);
    va_end(ap);
    for (line = text.data; line; line = rest) {
        rp_autobuf clean = {0};

        rest = strchr(line, '\n');
        if (rest)
            *rest++ = '\0';
        rp_text_printable(&clean, line, UINT_MAX);
        page->out->failed |= clean.failed;
        at = put_words(page, how, at, indent + hang, rp_buf_text(&clean));
    }
}

/** Says whether it is this model, also with its version behind it: "detailed (version 13)". */
static bool is_model(const char *model, const char *word)
{
    const size_t bytes = strlen(word);

    return strncmp(model, word, bytes) == 0 && (!model[bytes] || model[bytes] == ' ');
}

void rp_software_line(const struct rp_page *page, const char *model)
{
    if (model && is_model(model, "off"))
        rp_page_text(page, RP_INK_YELLOW, 0,
                     "SOFTWARE DEVICE: timing was off, the times mean nothing");
    else
        rp_page_line(page, RP_INK_YELLOW, 0,
                     "SOFTWARE DEVICE: modelled time (%s), not hardware time",
                     !model                        ? "software device"
                     : is_model(model, "detailed") ? "detailed timing"
                     : is_model(model, "warm")     ? "detailed timing, warm caches"
                                                   : "counts timing");
}

void rp_clock_line(const struct rp_page *page, uint32_t clock_mhz)
{
    if (clock_mhz)
        rp_page_line(page, RP_INK_YELLOW, 0,
                     "Modelled at %u MHz (--clock), not at the highest clock", clock_mhz);
}

const char *rp_not_modelled(const char *device, const char *model)
{
    if (!device || strcmp(device, "software") != 0 || !model || strcmp(model, "off") == 0)
        return "";
    return strcmp(model, "counts") != 0 ? "; host time is not modelled"
                                        : "; launch and host time are not modelled";
}

void rp_xml_text(struct rp_buf *buf, const char *text, unsigned most_cells)
{
    rp_autobuf clean = {0};

    rp_text_printable(&clean, text, most_cells);
    for (const char *p = rp_buf_text(&clean); *p; p++)
        switch (*p) {
        case '<':
            rp_buf_puts(buf, "&lt;");
            break;
        case '>':
            rp_buf_puts(buf, "&gt;");
            break;
        case '&':
            rp_buf_puts(buf, "&amp;");
            break;
        case '"':
            rp_buf_puts(buf, "&quot;");
            break;
        case '\'':
            rp_buf_puts(buf, "&#39;");
            break;
        default:
            /* XML excludes these two code points beyond the surrogates. */
            if (p[0] == '\xef' && p[1] == '\xbf' && (p[2] == '\xbe' || p[2] == '\xbf')) {
                rp_buf_puts(buf, "?");
                p += 2;
                break;
            }
            rp_buf_add(buf, p, 1);
        }
    buf->failed |= clean.failed;
}

void rp_xml_attribute(struct rp_buf *buf, const char *name, const char *text)
{
    rp_autobuf spelled = {0};

    rp_escape(&spelled, *text ? text : "(no name)");
    rp_buf_printf(buf, " %s=\"", name);
    rp_xml_text(buf, rp_buf_text(&spelled), UINT_MAX);
    rp_buf_puts(buf, "\"");
    buf->failed |= spelled.failed;
}

/* A spreadsheet takes text for a formula by its first character, some also after blanks. A quote
 * before it marks it as text. The only blanks left here are spaces. */
static bool is_formula(const char *text)
{
    text += strspn(text, " ");
    return *text && strchr("=+-@|%", *text);
}

void rp_csv_cell(struct rp_buf *buf, const char *text)
{
    rp_autobuf clean = {0};

    rp_escape(&clean, text);
    text = rp_buf_text(&clean);
    if (!is_formula(text) && !strpbrk(text, ",\"")) {
        rp_buf_puts(buf, text);
    } else {
        rp_buf_puts(buf, is_formula(text) ? "\"'" : "\"");
        for (; *text; text++)
            rp_buf_add(buf, "\"\"", *text == '"' ? 2 : 0), rp_buf_add(buf, text, *text != '"');
        rp_buf_puts(buf, "\"");
    }
    buf->failed |= clean.failed;
}

/* From a factor of two on it is easier to read than per cent. */
void rp_change_text(struct rp_buf *to, double ratio, double before_ms, double after_ms,
                    const char *beside)
{
    const double many = 2, few = 0.1, percent = 100 * (ratio - 1);
    const unsigned decimals = fabs(percent) < few ? 3 : 1;
    struct rp_unit_span span = {0};
    struct rp_unit unit;

    rp_unit_span_add_both(&span, before_ms * 1e6, after_ms * 1e6);
    unit = rp_unit_of(RP_UNIT_TIME, span, false);
    if (ratio >= many || ratio <= 1 / many)
        rp_buf_puts(to, rp_speed_change(1 / ratio).text);
    else if (percent > 0)
        rp_buf_printf(to, "%s %% slower", rp_number_fixed(percent, decimals).text);
    else
        rp_buf_printf(to, "takes %s %% less time", rp_number_fixed(-percent, decimals).text);
    rp_buf_printf(to, " %s (%s -> %s %s)", beside, rp_unit_number(unit, before_ms * 1e6).text,
                  rp_unit_number(unit, after_ms * 1e6).text, unit.name);
}

static const struct rp_report_form forms[] = {
#define RP_REPORT_FORM(function, name_, ending_, what_)                                            \
    {.name = name_, .ending = ending_, .what = what_, .write = rp_form_##function},
#include "report/report_forms.def"
#undef RP_REPORT_FORM
};

enum { FORMS = sizeof forms / sizeof forms[0] };

int rp_form_html(const struct rp_report_parts *parts, struct rp_buf *buf, struct rp_err *err)
{
    return rp_report_html(parts->title, parts->documents, parts->document_count, buf, err);
}

const struct rp_report_form *rp_report_forms(size_t *ret_count)
{
    *ret_count = FORMS;
    return forms;
}

const struct rp_report_form *rp_report_form_named(const char *name)
{
    for (size_t i = 0; i < FORMS; i++)
        if (strcmp(forms[i].name, name) == 0)
            return &forms[i];
    return NULL;
}

const struct rp_report_form *rp_report_form_of_file(const char *path)
{
    const struct rp_report_form *best = NULL;
    size_t bytes = strlen(path), longest = 0;

    for (size_t i = 0; i < FORMS; i++) {
        size_t ending = strlen(forms[i].ending);

        if (ending <= longest || bytes < ending ||
            strcmp(path + bytes - ending, forms[i].ending) != 0)
            continue;
        best = &forms[i];
        longest = ending;
    }
    return best;
}

/* A title is escaped as text of an element. */
static void put_text(struct rp_buf *buf, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<':
            rp_buf_puts(buf, "&lt;");
            break;
        case '&':
            rp_buf_puts(buf, "&amp;");
            break;
        default:
            rp_buf_add(buf, text, 1);
        }
}

/* In JSON '<' stands within strings only, where it may be written as an escape, so that nothing in
 * a document ends its element. The same is done with invisible characters, which other programs'
 * documents may have. */
static void put_document(struct rp_buf *buf, const struct rp_html_document *d)
{
    rp_autobuf text = {0}, seen = {0};
    const char *at, *end;

    rp_buf_add(&text, d->text, d->bytes);
    rp_escape_invisible(&seen, rp_buf_text(&text));
    buf->failed |= text.failed || seen.failed;
    at = rp_buf_text(&seen);
    end = at + seen.len;
    rp_buf_printf(buf, "<script type=\"application/json\" id=\"data-%s\">", d->name);
    while (at < end) {
        const char *next = memchr(at, '<', (size_t)(end - at));

        rp_buf_add(buf, at, (size_t)((next ? next : end) - at));
        if (next)
            rp_buf_puts(buf, "\\u003c");
        at = next ? next + 1 : end;
    }
    rp_buf_puts(buf, "</script>\n");
}

int rp_report_html(const char *title, const struct rp_html_document *documents, size_t count,
                   struct rp_buf *buf, struct rp_err *err)
{
    struct rp_buf clean = {0};

    rp_text_printable(&clean, title, UINT_MAX);
    rp_buf_add(buf, rp_html_begin, rp_html_begin_bytes);
    put_text(buf, rp_buf_text(&clean));
    rp_buf_add(buf, rp_html_middle, rp_html_middle_bytes);
    for (size_t i = 0; i < count; i++)
        put_document(buf, &documents[i]);
    rp_buf_add(buf, rp_html_end, rp_html_end_bytes);
    buf->failed |= clean.failed;
    rp_buf_free(&clean);
    return rp_report_end(buf, err);
}
