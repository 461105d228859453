#include "report/report_forms.h"

#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "report/report.h"
#include "report/report_text.h"

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

/* Text of an element, which a title is. */
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

/* In JSON '<' stands within strings only, where it may be written as an escape: so nothing in a
 * document ends the element that it is in. The same of what is not seen, which others' documents
 * have as it is. */
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
