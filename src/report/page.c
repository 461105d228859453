#include "report/page.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "report/text.h"

void rp_page_ink(const struct rp_page *page, enum rp_ink ink)
{
    static const char *const codes[] = {
        [RP_INK_PLAIN] = "\033[0m", [RP_INK_BOLD] = "\033[1m",    [RP_INK_DIM] = "\033[2m",
        [RP_INK_RED] = "\033[31m",  [RP_INK_YELLOW] = "\033[33m", [RP_INK_GREEN] = "\033[32m",
    };

    if (page->colour)
        rp_buf_puts(page->out, codes[ink]);
}

void rp_page_text(const struct rp_page *page, enum rp_ink how, unsigned indent, const char *text)
{
    rp_buf_printf(page->out, "%*s", (int)indent, "");
    if (how != RP_INK_PLAIN)
        rp_page_ink(page, how);
    rp_text_printable(page->out, text, page->width - indent);
    if (how != RP_INK_PLAIN)
        rp_page_ink(page, RP_INK_PLAIN);
    rp_buf_puts(page->out, "\n");
}

/* The text of a line, before it is made printable. */
static void format(const struct rp_page *page, struct rp_buf *text, const char *fmt, va_list ap)
{
    rp_buf_vprintf(text, fmt, ap);
    if (text->failed)
        page->out->failed = true;
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
    rp_autobuf text = {0}, line = {0};
    va_list ap;

    va_start(ap, fmt);
    format(page, &text, fmt, ap);
    va_end(ap);
    rp_text_printable(&line, rp_buf_text(&text), page->width - indent);
    size_t used = rp_text_cells(rp_buf_text(&line)), room = page->width - indent;
    rp_text_printable_head(&line, name, used < room ? (unsigned)(room - used) : 0);
    if (line.failed)
        page->out->failed = true;
    rp_page_text(page, how, indent, rp_buf_text(&line));
}

struct rp_page rp_page_of_words(struct rp_buf *out, struct rp_term_style style)
{
    enum { LEAST_WIDTH = 40, NO_WIDTH = 1 << 30 };
    const unsigned width = style.width ? style.width : NO_WIDTH;

    return (struct rp_page){.out = out,
                            .colour = style.colour,
                            .utf8 = style.utf8,
                            .width = width < LEAST_WIDTH ? LEAST_WIDTH : width};
}

/** Without newlines. @return by how much the next line is indented */
static unsigned put_words(const struct rp_page *page, enum rp_ink how, unsigned indent,
                          unsigned next, const char *text)
{
    do {
        size_t bytes = rp_text_words(text, page->width - indent);

        rp_buf_printf(page->out, "%*s", (int)indent, "");
        if (how != RP_INK_PLAIN && bytes)
            rp_page_ink(page, how);
        rp_buf_add(page->out, text, bytes);
        if (how != RP_INK_PLAIN && bytes)
            rp_page_ink(page, RP_INK_PLAIN);
        rp_buf_puts(page->out, "\n");
        text += bytes;
        text += strspn(text, " ");
        indent = next;
    } while (*text);
    return next;
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

void rp_software_line(const struct rp_page *page, const char *model)
{
    if (model && strcmp(model, "off") == 0)
        rp_page_text(page, RP_INK_YELLOW, 0,
                     "SOFTWARE DEVICE: timing was off, the times mean nothing");
    else
        rp_page_line(page, RP_INK_YELLOW, 0,
                     "SOFTWARE DEVICE: modelled time (%s), not hardware time",
                     !model                           ? "software device"
                     : strcmp(model, "detailed") == 0 ? "detailed timing"
                                                      : "fast timing");
}
