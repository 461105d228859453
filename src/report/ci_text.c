#include "report/ci_text.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "report/report.h"

/* --- Markdown ------------------------------------------------------------------------------ */

void rp_markdown_plain(struct rp_buf *buf, const char *text, unsigned most_cells)
{
    rp_autobuf clean = {0};

    rp_text_printable(&clean, text, most_cells);
    for (const char *p = rp_buf_text(&clean); *p; p++)
        if (strchr("&<>|`*_[]\\@#~!$:", *p))
            rp_buf_printf(buf, "&#%u;", (unsigned)(unsigned char)*p);
        else
            rp_buf_add(buf, p, 1);
    buf->failed |= clean.failed;
}

/* Counts the largest number of backquotes in a row. */
static size_t longest_run(const char *text)
{
    size_t most = 0;

    for (size_t run; *text; text += run ? run : 1) {
        run = strspn(text, "`");
        most = run > most ? run : most;
    }
    return most;
}

/* Code is the text between the first run of so many backquotes and the next. If it has a space on
 * both sides, one of each is removed. */
static void put_code(struct rp_buf *buf, const char *text, bool in_table)
{
    rp_autobuf clean = {0};
    size_t fence, length;
    bool padded;

    rp_text_printable(&clean, text, RP_MARKDOWN_NAME_CELLS);
    text = rp_buf_text(&clean);
    length = strlen(text);
    fence = longest_run(text) + 1;
    padded = length && (text[0] == '`' || text[length - 1] == '`' ||
                        (text[0] == ' ' && text[length - 1] == ' '));
    for (size_t i = 0; length && i < fence; i++)
        rp_buf_puts(buf, "`");
    rp_buf_puts(buf, padded ? " " : "");
    for (const char *p = text; *p; p++)
        rp_buf_printf(buf, in_table && *p == '|' ? "\\%c" : "%c", *p);
    rp_buf_puts(buf, padded ? " " : "");
    for (size_t i = 0; length && i < fence; i++)
        rp_buf_puts(buf, "`");
    buf->failed |= clean.failed;
}

void rp_markdown_code(struct rp_buf *buf, const char *text)
{
    put_code(buf, text, false);
}

void rp_markdown_cell(struct rp_buf *buf, const char *text)
{
    put_code(buf, text, true);
}

/* The block ends at a line with as many backquotes, of which no line here has so many. */
void rp_markdown_block(struct rp_buf *buf, const char *text)
{
    const size_t run = longest_run(text), fence = run < 3 ? 3 : run + 1;

    for (size_t i = 0; i < fence; i++)
        rp_buf_puts(buf, "`");
    rp_buf_puts(buf, "text\n");
    while (*text) {
        const size_t bytes = strcspn(text, "\n");
        rp_autobuf line = {0}, clean = {0};

        rp_buf_add(&line, text, bytes);
        rp_text_printable(&clean, rp_buf_text(&line), 2 * RP_MARKDOWN_NAME_CELLS);
        rp_buf_printf(buf, "%s\n", rp_buf_text(&clean));
        buf->failed |= line.failed || clean.failed;
        text += bytes + (text[bytes] == '\n');
    }
    for (size_t i = 0; i < fence; i++)
        rp_buf_puts(buf, "`");
    rp_buf_puts(buf, "\n");
}

/* --- workflow commands ----------------------------------------------------------------------- */

/* Escapes text for workflow commands. A property ends with a comma or two colons, too. */
static void escape(struct rp_buf *buf, const char *text, bool property)
{
    rp_autobuf clean = {0};

    rp_escape(&clean, text);
    for (const char *p = rp_buf_text(&clean); *p; p++)
        if (*p == '%' || (property && (*p == ':' || *p == ',')))
            rp_buf_printf(buf, "%%%02X", (unsigned)(unsigned char)*p);
        else
            rp_buf_add(buf, p, 1);
    buf->failed |= clean.failed;
}

void rp_workflow_annotate(struct rp_buf *buf, const char *kind, const char *title, const char *file,
                          unsigned line, const char *text)
{
    rp_buf_printf(buf, "::%s ", kind);
    if (file) {
        rp_buf_puts(buf, "file=");
        escape(buf, file, true);
        if (line)
            rp_buf_printf(buf, ",line=%u", line);
        rp_buf_puts(buf, ",");
    }
    rp_buf_puts(buf, "title=");
    escape(buf, title, true);
    rp_buf_puts(buf, "::");
    escape(buf, text, false);
    rp_buf_puts(buf, "\n");
}

/* --- JUnit XML ------------------------------------------------------------------------------- */

const char rp_junit_first_line[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";

void rp_junit_begin_suite(struct rp_buf *buf, const char *name, struct rp_junit_counts n)
{
    rp_buf_puts(buf, "  <testsuite");
    rp_xml_attribute(buf, "name", name);
    rp_buf_printf(buf, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n", n.tests,
                  n.failures, n.errors, n.skipped);
}

void rp_junit_property(struct rp_buf *buf, const char *name, const char *value)
{
    rp_buf_puts(buf, "      <property");
    rp_xml_attribute(buf, "name", name);
    rp_xml_attribute(buf, "value", value);
    rp_buf_puts(buf, "/>\n");
}

void rp_junit_begin_case(struct rp_buf *buf, const char *class, const char *name)
{
    rp_buf_puts(buf, "    <testcase");
    rp_xml_attribute(buf, "classname", class);
    rp_xml_attribute(buf, "name", name);
}

void rp_junit_end_case(struct rp_buf *buf)
{
    rp_buf_puts(buf, "    </testcase>\n");
}

void rp_junit_outcome(struct rp_buf *buf, const char *element, const char *type, const char *text)
{
    rp_buf_printf(buf, "      <%s", element);
    rp_xml_attribute(buf, "type", type);
    rp_xml_attribute(buf, "message", text);
    rp_buf_puts(buf, ">");
    rp_xml_text(buf, text, UINT_MAX);
    rp_buf_printf(buf, "</%s>\n", element);
}

void rp_junit_said(struct rp_buf *buf, const char *text)
{
    rp_buf_puts(buf, "      <system-out>");
    for (size_t bytes; *text; text += bytes + (text[bytes] == '\n')) {
        rp_autofree char *line = NULL;

        bytes = strcspn(text, "\n");
        line = rp_strndup(text, bytes);
        rp_xml_text(buf, line, UINT_MAX);
        if (text[bytes] && text[bytes + 1])
            rp_buf_puts(buf, "\n");
    }
    rp_buf_puts(buf, "</system-out>\n");
}

/* --- OpenMetrics ------------------------------------------------------------------------------ */

void rp_metrics_clean(struct rp_buf *buf, const char *text)
{
    for (;;) {
        const size_t bytes = strcspn(text, "\n");
        rp_autobuf line = {0};

        rp_buf_add(&line, text, bytes);
        rp_escape(buf, rp_buf_text(&line));
        buf->failed |= line.failed;
        if (!text[bytes])
            return;
        rp_buf_puts(buf, "\n");
        text += bytes + 1;
    }
}

void rp_metrics_label(struct rp_buf *buf, const char *name, const char *text)
{
    rp_autobuf clean = {0};

    rp_metrics_clean(&clean, text);
    rp_buf_printf(buf, "%s=\"", name);
    for (const char *p = rp_buf_text(&clean); *p; p++)
        if (*p == '\n')
            rp_buf_puts(buf, "\\n");
        else
            rp_buf_printf(buf, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
    rp_buf_puts(buf, "\"");
    buf->failed |= clean.failed;
}
