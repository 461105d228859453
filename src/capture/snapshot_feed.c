#include "capture/snapshot_feed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "capture/capture_files.h"
#include "capture/page_file.h"

enum { MOST_CODE_BYTES = 1 << 30, MOST_KERNARG_BYTES = 1 << 20 };

struct rp_snapshot_feed {
    const struct rp_snapshot_wishes *wishes;
    struct rp_snapshot_hello hello;
    struct rp_capture_writer *writer; /* NULL: no dispatch has come, or its capture is whole */
    bool has_code, has_kernarg;
    size_t done;
    uint64_t match; /* of the newest capture */
    char *declined;
    size_t declines;
    size_t seen, wanted;
    struct rp_snapshot_passed passed[RP_SNAPSHOT_MOST_PASSED];
    size_t passed_count;
};

int rp_snapshot_feed_open(const struct rp_snapshot_wishes *wishes, struct rp_snapshot_feed **ret,
                          struct rp_err *err)
{
    struct rp_snapshot_feed *feed = calloc(1, sizeof *feed);

    if (!feed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    feed->wishes = wishes;
    *ret = feed;
    return 0;
}

size_t rp_snapshot_most_bytes(uint32_t kind)
{
    switch (kind) {
    case RP_SNAPSHOT_HELLO:
        return sizeof(struct rp_snapshot_hello);
    case RP_SNAPSHOT_BEGIN:
        return sizeof(struct rp_snapshot_dispatch) + RP_SNAPSHOT_MOST_TEXT;
    case RP_SNAPSHOT_CODE:
        return MOST_CODE_BYTES;
    case RP_SNAPSHOT_KERNARG:
        return MOST_KERNARG_BYTES;
    case RP_SNAPSHOT_REGION:
    case RP_SNAPSHOT_UNMAPPED:
        return sizeof(struct rp_snapshot_region);
    case RP_SNAPSHOT_PAGES:
        return sizeof(uint64_t) + (size_t)RP_SNAPSHOT_MOST_PAGES * RP_PAGE_BYTES;
    case RP_SNAPSHOT_PASSED:
        return sizeof(struct rp_snapshot_passed);
    case RP_SNAPSHOT_WAITS:
        return sizeof(struct rp_snapshot_waits);
    case RP_SNAPSHOT_REFUSED:
        return sizeof(struct rp_snapshot_region) + RP_SNAPSHOT_MOST_TEXT;
    case RP_SNAPSHOT_KERNEL:
    case RP_SNAPSHOT_DECLINED:
        return RP_SNAPSHOT_MOST_TEXT;
    default:
        return 0;
    }
}

static int nonsense(const struct rp_snapshot_message *m, struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT,
                   "a message of kind %" PRIu32 " with %" PRIu64 " bytes of the tool in the "
                   "program makes no sense here",
                   m->kind, m->bytes);
}

static int take_hello(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                      const void *bytes, struct rp_err *err)
{
    if (m->bytes != sizeof feed->hello || feed->hello.version)
        return nonsense(m, err);
    memcpy(&feed->hello, bytes, sizeof feed->hello);
    if (feed->hello.version == RP_SNAPSHOT_VERSION)
        return 0;
    return rp_fail(err, RP_BAD_INPUT,
                   "the tool in the program is of another version of rocm-perf-lab (%" PRIu32
                   ", this is %d)",
                   feed->hello.version, RP_SNAPSHOT_VERSION);
}

static int take_kernel(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                       const void *bytes, uint32_t *ret_reply, struct rp_err *err)
{
    rp_autofree char *symbol = strndup(bytes, m->bytes);
    rp_autofree char *name = symbol ? feed->wishes->name(symbol, feed->wishes->data) : NULL;

    if (!name)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    *ret_reply = feed->wishes->wants(symbol, name, feed->wishes->data);
    feed->seen++;
    feed->wanted += *ret_reply;
    return 0;
}

static int take_begin(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                      const void *bytes, struct rp_err *err)
{
    const struct rp_snapshot_wishes *wishes = feed->wishes;
    struct rp_snapshot_dispatch dispatch;
    rp_autofree char *symbol = NULL;
    rp_autofree char *name = NULL;
    rp_autofree char *folder = NULL;
    int rc;

    if (m->bytes <= sizeof dispatch || feed->writer || (feed->done && !wishes->several))
        return nonsense(m, err);
    memcpy(&dispatch, bytes, sizeof dispatch);
    symbol = strndup((const char *)bytes + sizeof dispatch, m->bytes - sizeof dispatch);
    name = symbol ? wishes->name(symbol, wishes->data) : NULL;
    folder = wishes->several
                 ? rp_format("%s/" RP_CAPTURE_SEVERAL_FOLDER, wishes->folder, dispatch.match)
                 : strdup(wishes->folder);
    if (!name || !folder)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = rp_capture_begin(folder, &feed->writer, err);
    if (rc < 0)
        return rc;
    feed->match = dispatch.match;
    feed->has_code = feed->has_kernarg = false;
    rp_capture_hello(feed->writer, &feed->hello);
    return rp_capture_dispatch(feed->writer, &dispatch, symbol, name, err);
}

static int take_pages(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                      const void *bytes, struct rp_err *err)
{
    uint64_t first_page;
    size_t count;

    if (m->bytes < sizeof first_page || (m->bytes - sizeof first_page) % RP_PAGE_BYTES)
        return nonsense(m, err);
    memcpy(&first_page, bytes, sizeof first_page);
    count = (m->bytes - sizeof first_page) / RP_PAGE_BYTES;
    return rp_capture_pages(feed->writer, first_page, (const char *)bytes + sizeof first_page,
                            count, err);
}

static int take_region(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                       const void *bytes, struct rp_err *err)
{
    struct rp_snapshot_region region;
    rp_autofree char *reason = NULL;

    if (m->bytes < sizeof region)
        return nonsense(m, err);
    memcpy(&region, bytes, sizeof region);
    if (m->kind == RP_SNAPSHOT_REGION)
        return rp_capture_region(feed->writer, &region, err);
    if (m->kind == RP_SNAPSHOT_UNMAPPED)
        return rp_capture_unmapped(feed->writer, &region, err);
    reason = strndup((const char *)bytes + sizeof region, m->bytes - sizeof region);
    if (!reason)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return rp_capture_refuse(feed->writer, &region, reason, err);
}

static int take_end(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                    struct rp_err *err)
{
    int rc;

    if (!feed->has_code || !feed->has_kernarg)
        return nonsense(m, err);
    rc = rp_capture_finish(feed->writer, &feed->wishes->origin, err);
    rp_capture_free(feed->writer);
    feed->writer = NULL;
    feed->done += rc == 0;
    return rc;
}

static int take_declined(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                         const void *bytes, struct rp_err *err)
{
    rp_capture_free(feed->writer);
    feed->writer = NULL;
    feed->declines++;
    if (!feed->declined)
        feed->declined = strndup(bytes, m->bytes);
    return feed->declined ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

static int take_passed(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                       const void *bytes, struct rp_err *err)
{
    if (m->bytes != sizeof *feed->passed || feed->passed_count == RP_SNAPSHOT_MOST_PASSED)
        return nonsense(m, err);
    memcpy(&feed->passed[feed->passed_count++], bytes, sizeof *feed->passed);
    return 0;
}

static int take_waits(const struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                      const void *bytes, struct rp_err *err)
{
    struct rp_snapshot_waits waits;

    if (m->bytes != sizeof waits)
        return nonsense(m, err);
    memcpy(&waits, bytes, sizeof waits);
    if (feed->wishes->waits)
        feed->wishes->waits(feed->match, &waits);
    return 0;
}

/* Messages that are parts of a capture. */
static int take_part(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                     const void *bytes, struct rp_err *err)
{
    if (!feed->writer)
        return nonsense(m, err);
    switch (m->kind) {
    case RP_SNAPSHOT_CODE:
        feed->has_code = true;
        return rp_capture_blob(feed->writer, RP_CAPTURE_CODE_FILE, bytes, m->bytes, err);
    case RP_SNAPSHOT_KERNARG:
        feed->has_kernarg = true;
        return rp_capture_blob(feed->writer, RP_CAPTURE_KERNARG_FILE, bytes, m->bytes, err);
    case RP_SNAPSHOT_REGION:
    case RP_SNAPSHOT_REFUSED:
    case RP_SNAPSHOT_UNMAPPED:
        return take_region(feed, m, bytes, err);
    case RP_SNAPSHOT_PAGES:
        return take_pages(feed, m, bytes, err);
    case RP_SNAPSHOT_WAITS:
        return take_waits(feed, m, bytes, err);
    case RP_SNAPSHOT_AFTER:
        return rp_capture_after(feed->writer, err);
    case RP_SNAPSHOT_END:
        return take_end(feed, m, err);
    default:
        return nonsense(m, err);
    }
}

int rp_snapshot_feed_take(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *message,
                          const void *bytes, uint32_t *ret_reply, struct rp_err *err)
{
    if (message->bytes > rp_snapshot_most_bytes(message->kind) ||
        (!feed->hello.version && message->kind != RP_SNAPSHOT_HELLO))
        return nonsense(message, err);
    switch (message->kind) {
    case RP_SNAPSHOT_HELLO:
        return take_hello(feed, message, bytes, err);
    case RP_SNAPSHOT_KERNEL:
        return take_kernel(feed, message, bytes, ret_reply, err);
    case RP_SNAPSHOT_BEGIN:
        return take_begin(feed, message, bytes, err);
    case RP_SNAPSHOT_DECLINED:
        return take_declined(feed, message, bytes, err);
    case RP_SNAPSHOT_PASSED:
        return take_passed(feed, message, bytes, err);
    default:
        return take_part(feed, message, bytes, err);
    }
}

bool rp_snapshot_feed_open_capture(const struct rp_snapshot_feed *feed)
{
    return feed->writer != NULL;
}

size_t rp_snapshot_feed_done(const struct rp_snapshot_feed *feed)
{
    return feed->done;
}

uint64_t rp_snapshot_feed_match(const struct rp_snapshot_feed *feed)
{
    return feed->match;
}

size_t rp_snapshot_feed_declines(const struct rp_snapshot_feed *feed)
{
    return feed->declines;
}

const char *rp_snapshot_feed_declined(const struct rp_snapshot_feed *feed)
{
    return feed->declined;
}

const struct rp_snapshot_passed *rp_snapshot_feed_passed(const struct rp_snapshot_feed *feed,
                                                         size_t *ret_count)
{
    *ret_count = feed->passed_count;
    return feed->passed;
}

void rp_snapshot_feed_kernels(const struct rp_snapshot_feed *feed, size_t *ret_seen,
                              size_t *ret_wanted)
{
    *ret_seen = feed->seen;
    *ret_wanted = feed->wanted;
}

void rp_snapshot_feed_close(struct rp_snapshot_feed *feed)
{
    if (!feed)
        return;
    rp_capture_free(feed->writer);
    free(feed->declined);
    free(feed);
}
