#include "replay/watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "replay/margins.h"
#include "replay/replay.h"

enum {
    PATTERN = 0xa5,     /* neither zeros nor a number that kernels are likely to write */
    PACKET_INVALID = 1, /* hsa_packet_type_t */
    PACKET_BYTES = 64
};

struct rp_watch {
    struct rp_margin *margins;
    size_t count;
    uint8_t *own; /* of each byte of the margins: the captured kernel changes it */
    struct rp_beyond beyond;
};

static uint64_t bytes_of(const struct rp_watch *w, size_t first, size_t count)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += w->margins[first + i].bytes;
    return bytes;
}

/* As many margins as the stage has room for. */
static size_t margins_at_once(const struct rp_watch *w, size_t first)
{
    uint64_t bytes = 0;
    size_t count = 0;

    while (first + count < w->count) {
        bytes += w->margins[first + count].bytes;
        if (bytes > RP_REPLAY_STAGE_BYTES)
            break;
        count++;
    }
    return count;
}

int rp_watch_begin(struct rp_replay *r, struct rp_err *err)
{
    struct rp_watch *w = calloc(1, sizeof *w);
    int rc = w ? rp_margins_find(r->ranges, r->range_count, r->memory, r->memory_count, &w->margins,
                                 &w->count, err)
               : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    if (rc < 0) {
        free(w);
        return rc;
    }
    r->watch = w;
    w->own = calloc(bytes_of(w, 0, w->count) + 1, 1);
    return w->own ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

/* The queue is at rest: none of its packets is still to be read. */
static void clear_packets(const struct rp_replay_queue *queue)
{
    uint8_t *packets = queue->base;

    memset(packets, 0, (size_t)queue->size_packets * PACKET_BYTES);
    for (uint32_t i = 0; i < queue->size_packets; i++)
        packets[(size_t)i * PACKET_BYTES] = PACKET_INVALID;
}

int rp_watch_prepare(struct rp_replay *r, struct rp_err *err)
{
    struct rp_watch *w = r->watch;
    int rc = 0;

    if (!w)
        return 0;
    clear_packets(r->queue);
    for (size_t first = 0, count; first < w->count && rc == 0; first += count) {
        count = margins_at_once(w, first);
        memset(r->stage, PATTERN, bytes_of(w, first, count));
        rc = rp_replay_move_margins(r, w->margins + first, count, true, err);
    }
    return rc;
}

/* What the captured kernel changes once may be changed from then on. */
static void look_at(struct rp_watch *w, bool captured, uint64_t address, uint64_t bytes,
                    const uint8_t *got, const uint8_t *expected, uint8_t *own)
{
    for (uint64_t i = 0; i < bytes; i++) {
        if (got[i] == expected[i] || own[i])
            continue;
        own[i] = captured;
        if (captured || w->beyond.bytes++)
            continue;
        w->beyond.first_address = address + i;
        w->beyond.got = got[i];
        w->beyond.expected = expected[i];
    }
}

int rp_watch_look(struct rp_replay *r, struct rp_err *err)
{
    const bool captured = r->kernel == &r->original;
    uint8_t pattern[RP_PAGE_BYTES], *own;
    struct rp_watch *w = r->watch;
    int rc = 0;

    if (!w)
        return 0;
    memset(pattern, PATTERN, sizeof pattern);
    own = w->own;
    for (size_t first = 0, count; first < w->count && rc == 0; first += count) {
        const uint8_t *got = r->stage;

        count = margins_at_once(w, first);
        rc = rp_replay_move_margins(r, w->margins + first, count, false, err);
        for (size_t i = first; i < first + count && rc == 0; i++) {
            const struct rp_margin *m = &w->margins[i];

            look_at(w, captured, m->address, m->bytes, got, pattern, own);
            got += m->bytes;
            own += m->bytes;
        }
    }
    return rc;
}

struct rp_beyond rp_watch_take(struct rp_replay *r)
{
    const struct rp_beyond beyond = r->watch ? r->watch->beyond : (struct rp_beyond){0};

    if (r->watch)
        r->watch->beyond = (struct rp_beyond){0};
    return beyond;
}
