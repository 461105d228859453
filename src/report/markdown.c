#include "report/markdown.h"

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
