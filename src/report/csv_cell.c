#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "report/csv.h"

/* A spreadsheet takes text for a formula by its first character, some after blanks. A quote before
 * it says that it is text. Of blanks, only spaces are there still. */
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
