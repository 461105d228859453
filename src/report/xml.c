#include "report/xml.h"

#include <limits.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "report/text.h"

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
            /* The two code points beyond the surrogates that are no characters of XML. */
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
