#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static bool fail(struct rp_buf *buf)
{
    rp_memory_ended();
    buf->failed = true;
    return false;
}

static bool reserve(struct rp_buf *buf, size_t extra)
{
    size_t need = buf->len + extra + 1;
    size_t capacity = buf->capacity_bytes ? buf->capacity_bytes : 64;
    char *grown;

    if (buf->failed)
        return false;
    if (need < extra)
        return fail(buf);
    if (need <= buf->capacity_bytes)
        return true;
    while (capacity < need)
        capacity *= 2;
    grown = rp_realloc(buf->data, capacity);
    if (!grown)
        return fail(buf);
    buf->data = grown;
    buf->capacity_bytes = capacity;
    return true;
}

void rp_buf_add(struct rp_buf *buf, const void *bytes, size_t len)
{
    if (!reserve(buf, len))
        return;
    if (len)
        memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void rp_buf_puts(struct rp_buf *buf, const char *text)
{
    rp_buf_add(buf, text, strlen(text));
}

void rp_buf_vprintf(struct rp_buf *buf, const char *fmt, va_list ap)
{
    va_list again;
    size_t room;
    int need;

    if (!reserve(buf, 0))
        return;
    /* There is mostly room already, so the text is formatted in place first. */
    va_copy(again, ap);
    room = buf->capacity_bytes - buf->len;
    need = vsnprintf(buf->data + buf->len, room, fmt, again);
    va_end(again);
    if (need >= 0 && (size_t)need < room) {
        buf->len += (size_t)need;
        return;
    }
    buf->data[buf->len] = '\0';
    if (need < 0)
        fail(buf); /* The text has 2 GiB or more. */
    if (!reserve(buf, (size_t)need))
        return;
    vsnprintf(buf->data + buf->len, (size_t)need + 1, fmt, ap);
    buf->len += (size_t)need;
}

void rp_buf_printf(struct rp_buf *buf, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    rp_buf_vprintf(buf, fmt, ap);
    va_end(ap);
}

const char *rp_buf_text(const struct rp_buf *buf)
{
    return buf->data ? buf->data : "";
}

char *rp_buf_steal(struct rp_buf *buf)
{
    char *data;

    rp_buf_add(buf, "", 0); /* An empty buffer still gives an empty string. */
    data = buf->failed ? NULL : buf->data;
    if (buf->failed)
        free(buf->data);
    memset(buf, 0, sizeof *buf);
    return data;
}

void rp_buf_free(struct rp_buf *buf)
{
    free(buf->data);
    memset(buf, 0, sizeof *buf);
}
