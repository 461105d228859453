#include "optimize/llm/sse.h"

#include <string.h>

#include "base/err.h"

/* Of one event. One piece of an answer takes some hundred bytes. */
enum { MAX_EVENT_BYTES = 8 << 20 };

static int too_large(struct rp_err *err)
{
    return rp_fail(err, RP_VERDICT, "an event is larger than %d bytes", MAX_EVENT_BYTES);
}

static void empty(struct rp_buf *buf)
{
    buf->len = 0;
    if (buf->data)
        buf->data[0] = '\0';
}

static int dispatch(struct rp_sse *sse, struct rp_err *err)
{
    int rc = 0;

    if (sse->has_data)
        rc = sse->event(sse->context, rp_buf_text(&sse->data), sse->data.len, err);
    sse->has_data = false;
    empty(&sse->data);
    return rc;
}

/* Only "data" matters here; event names, ids and retry times do not. */
static int field(struct rp_sse *sse, const char *line, size_t bytes, struct rp_err *err)
{
    size_t name_bytes = strcspn(line, ":"), skip;

    if (name_bytes > bytes)
        name_bytes = bytes;
    if (name_bytes != 4 || memcmp(line, "data", 4) != 0)
        return 0;
    skip = name_bytes + (bytes > name_bytes); /* the colon, and one space behind it */
    if (skip > name_bytes && bytes > skip && line[skip] == ' ')
        skip++;
    if (sse->data.len + (bytes - skip) >= MAX_EVENT_BYTES)
        return too_large(err);
    if (sse->has_data)
        rp_buf_add(&sse->data, "\n", 1);
    sse->has_data = true;
    rp_buf_add(&sse->data, line + skip, bytes - skip);
    return sse->data.failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

static int end_of_line(struct rp_sse *sse, struct rp_err *err)
{
    const char *line = rp_buf_text(&sse->line);
    size_t bytes = sse->line.len;
    int rc;

    if (!sse->begun && bytes >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) {
        line += 3;
        bytes -= 3;
    }
    sse->begun = true;
    rc = bytes == 0 ? dispatch(sse, err) : field(sse, line, bytes, err);
    empty(&sse->line);
    return rc;
}

int rp_sse_feed(struct rp_sse *sse, const char *bytes, size_t count, struct rp_err *err)
{
    size_t begin = 0;

    if (count > 0 && sse->after_return && bytes[0] == '\n')
        begin = 1;
    while (begin < count) {
        size_t end = begin;

        while (end < count && bytes[end] != '\n' && bytes[end] != '\r')
            end++;
        if (sse->line.len + (end - begin) >= MAX_EVENT_BYTES)
            return too_large(err);
        rp_buf_add(&sse->line, bytes + begin, end - begin);
        if (sse->line.failed)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        if (end == count)
            break;
        if (end_of_line(sse, err) < 0)
            return -(int)err->code;
        begin = end + 1;
        if (bytes[end] == '\r' && begin < count && bytes[begin] == '\n')
            begin++;
    }
    if (count > 0)
        sse->after_return = bytes[count - 1] == '\r';
    return 0;
}

int rp_sse_end(struct rp_sse *sse, struct rp_err *err)
{
    if (sse->line.len > 0 && end_of_line(sse, err) < 0)
        return -(int)err->code;
    return dispatch(sse, err);
}

void rp_sse_free(struct rp_sse *sse)
{
    rp_buf_free(&sse->line);
    rp_buf_free(&sse->data);
}
