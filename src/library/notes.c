#include "library/notes.h"

#include <stdarg.h>

#include "base/buf.h"

void rp_note(const struct rp_note_sink *sink, const char *fmt, ...)
{
    rp_autobuf text = {0};
    va_list ap;

    if (!sink->put)
        return;
    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    if (!text.failed)
        sink->put(sink->ctx, rp_buf_text(&text));
}
