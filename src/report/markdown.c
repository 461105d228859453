#include "report/markdown.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "report/text.h"

void rp_markdown_plain(struct rp_buf *buf, const char *text)
{
    rp_autobuf clean = {0};

    rp_text_printable(&clean, text, RP_MARKDOWN_NAME_CELLS);
    for (const char *p = rp_buf_text(&clean); *p; p++)
        if (strchr("&<>|`*_[]\\@#~!$:", *p))
            rp_buf_printf(buf, "&#%u;", (unsigned)(unsigned char)*p);
        else
            rp_buf_add(buf, p, 1);
    buf->failed |= clean.failed;
}

/* Of backquotes, the most in a row. */
static size_t longest_run(const char *text)
{
    size_t most = 0;

    for (size_t run; *text; text += run ? run : 1) {
        run = strspn(text, "`");
        most = run > most ? run : most;
    }
    return most;
}

/* What is read as code is that between the first run of so many backquotes and the next; of a space
 * on both sides each is taken away. */
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
