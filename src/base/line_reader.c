#include "base/line_reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/proc.h"

enum { STEP_BYTES = 1 << 16 };

void rp_line_reader_free(struct rp_line_reader *reader)
{
    rp_buf_free(&reader->buf);
    *reader = (struct rp_line_reader){.most_bytes = reader->most_bytes};
}

/** The lines that were given out are not needed any more. */
static void compact(struct rp_line_reader *r)
{
    if (!r->begin)
        return;
    memmove(r->buf.data, r->buf.data + r->begin, r->buf.len - r->begin);
    r->buf.len -= r->begin;
    r->scanned -= r->begin;
    r->begin = 0;
}

int rp_line_reader_fill(struct rp_line_reader *r, int fd, struct rp_err *err)
{
    const size_t most_bytes = r->most_bytes ? r->most_bytes : RP_MOST_LINE_BYTES;
    char bytes[STEP_BYTES];
    ssize_t got;
    int rc;

    compact(r);
    if (r->buf.len > most_bytes)
        return rp_fail(err, RP_BAD_INPUT, "a line has more than %zu bytes", most_bytes);
    while ((got = read(fd, bytes, sizeof bytes)) < 0) {
        const int why = errno;

        if (why == ECONNRESET) /* ended with something that it had not read */
            break;
        if (why == EAGAIN)
            return 0;
        rc = why == EINTR ? rp_proc_interrupted(err)
                          : rp_fail_errno(err, RP_ENVIRONMENT, why, "cannot read");
        if (rc < 0)
            return rc;
    }
    if (got <= 0)
        r->ended = true;
    else
        rp_buf_add(&r->buf, bytes, (size_t)got);
    return r->buf.failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

static const char *next(struct rp_line_reader *r, size_t *ret_bytes)
{
    const char *end = r->buf.len > r->scanned
                          ? memchr(r->buf.data + r->scanned, '\n', r->buf.len - r->scanned)
                          : NULL;
    size_t begin = r->begin;

    if (!end) {
        r->scanned = r->buf.len;
        return NULL;
    }
    r->begin = r->scanned = (size_t)(end - r->buf.data) + 1;
    *ret_bytes = r->scanned - 1 - begin;
    return r->buf.data + begin;
}

void rp_line_reader_skip(struct rp_line_reader *r)
{
    r->begin = r->scanned = r->buf.len;
    r->skipping = true;
}

/** Passes over what has come of a line that is not wanted. */
static void skip(struct rp_line_reader *r)
{
    const size_t bytes = r->buf.len - r->begin;
    const char *end = bytes ? memchr(r->buf.data + r->begin, '\n', bytes) : NULL;

    r->begin = end ? (size_t)(end - r->buf.data) + 1 : r->buf.len;
    r->scanned = r->begin;
    r->skipping = !end;
}

const char *rp_line_reader_next(struct rp_line_reader *r, size_t *ret_bytes)
{
    if (r->skipping)
        skip(r);
    return next(r, ret_bytes);
}

const char *rp_line_reader_rest(struct rp_line_reader *r, size_t *ret_bytes)
{
    const char *line = r->buf.data + r->begin;
    const size_t bytes = r->buf.len - r->begin;

    if (!r->ended || r->skipping || !bytes)
        return NULL;
    *ret_bytes = bytes;
    r->begin = r->scanned = r->buf.len;
    return line;
}
