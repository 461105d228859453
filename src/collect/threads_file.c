#include "collect/threads_file.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

/* --- places of the arrays ------------------------------------------------------------------ */

struct cursor {
    const char *at;
    size_t left;
};

/* The next array, or NULL: the file ends before. */
static const void *take(struct cursor *c, uint64_t count, size_t bytes)
{
    const char *from = c->at;
    size_t size;

    if (count > c->left / bytes)
        return NULL;
    size = ((size_t)count * bytes + 7) & ~(size_t)7;
    if (size > c->left)
        return NULL;
    c->at += size;
    c->left -= size;
    return from;
}

static int find_arrays(const void *bytes, size_t size, struct rp_threads_file *f,
                       struct rp_err *err)
{
    const struct rp_threads_header *h = bytes;
    struct cursor c = {.at = bytes, .left = size};

    if (size < sizeof *h || memcmp(h->magic, RP_THREADS_MAGIC, sizeof h->magic) != 0)
        return rp_fail(err, RP_BAD_INPUT, "it is no thread trace of the software device");
    if (h->version != RP_THREADS_VERSION || h->header_bytes != sizeof *h)
        return rp_fail(err, RP_BAD_INPUT, "version %" PRIu32 " of thread traces is not known",
                       h->version);
    f->header = take(&c, 1, sizeof *h);
    f->code = take(&c, h->code_count, sizeof *f->code);
    f->text = f->code ? take(&c, h->text_bytes, 1) : NULL;
    f->wave = f->text ? take(&c, h->wave_count, sizeof *f->wave) : NULL;
    f->row = f->wave ? take(&c, h->row_count, sizeof *f->row) : NULL;
    f->wait = f->row ? take(&c, h->wait_count, sizeof *f->wait) : NULL;
    f->event = f->wait ? take(&c, h->event_count, sizeof *f->event) : NULL;
    return f->event ? 0 : rp_fail(err, RP_BAD_INPUT, "it is cut short");
}

/* --- contents ------------------------------------------------------------------------------ */

static int check_code(const struct rp_threads_file *f, struct rp_err *err)
{
    const struct rp_threads_header *h = f->header;

    if (h->text_bytes && f->text[h->text_bytes - 1])
        return rp_fail(err, RP_BAD_INPUT, "its last text does not end");
    for (uint64_t i = 0; i < h->code_count; i++)
        if (f->code[i].text >= h->text_bytes || (i && f->code[i].pc <= f->code[i - 1].pc))
            return rp_fail(err, RP_BAD_INPUT, "instruction %" PRIu64 " is damaged", i);
    return 0;
}

static bool is_whole(const struct rp_threads_file *f, const struct rp_threads_wave *w)
{
    const struct rp_threads_header *h = f->header;
    uint64_t now = w->begin;

    if (w->first_row > h->row_count || w->row_count > h->row_count - w->first_row ||
        w->first_wait > h->wait_count || w->wait_count > h->wait_count - w->first_wait ||
        w->end < w->begin || w->engine >= 32 || w->simd >= 4 || w->slot >= 8)
        return false;
    for (uint64_t i = w->first_row; i < w->first_row + w->row_count; i++) {
        const struct rp_threads_row *row = &f->row[i];

        if (row->code >= h->code_count || row->clock < now ||
            row->stall_clocks > row->latency_clocks || row->clock > w->end ||
            row->latency_clocks > w->end - row->clock)
            return false;
        now = row->clock + row->latency_clocks;
    }
    return true;
}

static int check_waves(const struct rp_threads_file *f, struct rp_err *err)
{
    const struct rp_threads_header *h = f->header;

    for (uint64_t i = 0; i < h->wave_count; i++)
        if (!is_whole(f, &f->wave[i]))
            return rp_fail(err, RP_BAD_INPUT, "wave %" PRIu64 " is damaged", i);
    for (uint64_t i = 0; i < h->wait_count; i++)
        if (f->wait[i].code >= h->code_count || f->wait[i].on >= h->code_count)
            return rp_fail(err, RP_BAD_INPUT, "wait %" PRIu64 " is damaged", i);
    for (uint64_t i = 0; i < h->event_count; i++)
        if (f->event[i].engine >= 32)
            return rp_fail(err, RP_BAD_INPUT, "event %" PRIu64 " is damaged", i);
    if (!h->engine_mhz || !h->timestamp_mhz)
        return rp_fail(err, RP_BAD_INPUT, "its clocks are missing");
    return 0;
}

int rp_threads_file_parse(const void *bytes, size_t size, struct rp_threads_file *ret,
                          struct rp_err *err)
{
    struct rp_threads_file f = {0};
    int rc = find_arrays(bytes, size, &f, err);

    if (rc == 0)
        rc = check_code(&f, err);
    if (rc == 0)
        rc = check_waves(&f, err);
    if (rc == 0)
        *ret = f;
    return rc;
}

/* --- files --------------------------------------------------------------------------------- */

int rp_threads_file_open(const char *path, struct rp_threads_file *ret, struct rp_err *err)
{
    void *bytes = NULL;
    size_t size = 0;
    int rc = rp_read_file(path, SIZE_MAX, RP_ENVIRONMENT, &bytes, &size, err);

    if (rc < 0)
        return rc;
    rc = rp_threads_file_parse(bytes, size, ret, err);
    if (rc == 0)
        ret->bytes = bytes;
    else
        free(bytes);
    return rc;
}

void rp_threads_file_close(struct rp_threads_file *file)
{
    free(file->bytes);
    *file = (struct rp_threads_file){0};
}
