#include "capture/page_frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/err.h"

/* Pages that cannot be packed grow a little; more than this is no frame of ours. */
static size_t most_packed_bytes(void)
{
    return ZSTD_compressBound(RP_FRAME_BYTES);
}

int rp_frames_add(struct rp_frames *frames, uint64_t at, uint32_t pages, struct rp_err *err)
{
    if (frames->count == frames->capacity) {
        size_t capacity = frames->capacity ? frames->capacity * 2 : 256;
        uint64_t *bigger = realloc(frames->at, capacity * sizeof *bigger);

        if (!bigger)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        frames->at = bigger;
        frames->capacity = capacity;
    }
    frames->at[frames->count++] = at;
    frames->pages += pages;
    return 0;
}

/* @return 0, or -1 with errno: 0 when the file ends before */
static int read_at(int fd, void *to, size_t bytes, uint64_t at)
{
    for (char *out = to; bytes;) {
        ssize_t got = pread(fd, out, bytes, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got < 0 ? errno : 0;
            return -1;
        }
        out += got;
        at += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return 0;
}

static int cannot_read(const struct rp_frames *frames, uint64_t at, struct rp_err *err)
{
    if (errno)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s", frames->name);
    return rp_fail(err, RP_BAD_INPUT,
                   "%s is cut short: a frame of pages at byte %" PRIu64 " is not whole",
                   frames->name, at);
}

static int read_header(const struct rp_frames *frames, uint64_t at, struct rp_page_frame *ret,
                       struct rp_err *err)
{
    if (read_at(frames->fd, ret, sizeof *ret, at) < 0)
        return cannot_read(frames, at, err);
    if (memcmp(ret->magic, RP_FRAME_MAGIC, sizeof ret->magic) != 0 || ret->pages == 0 ||
        ret->pages > RP_FRAME_PAGES || ret->packed_bytes == 0 ||
        ret->packed_bytes > most_packed_bytes())
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is damaged: there is no frame of pages at byte %" PRIu64, frames->name,
                       at);
    return 0;
}

int rp_frames_scan(struct rp_frames *frames, struct rp_err *err)
{
    uint64_t end, at = 0;
    struct stat st;

    if (fstat(frames->fd, &st) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s", frames->name);
    for (end = (uint64_t)st.st_size; at < end;) {
        struct rp_page_frame frame;
        int rc = read_header(frames, at, &frame, err);

        if (rc < 0)
            return rc;
        if (end - at - sizeof frame < frame.packed_bytes) {
            errno = 0;
            return cannot_read(frames, at, err);
        }
        if (frames->pages % RP_FRAME_PAGES)
            return rp_fail(err, RP_BAD_INPUT,
                           "%s is damaged: the frame before byte %" PRIu64 " is not full",
                           frames->name, at);
        rc = rp_frames_add(frames, at, frame.pages, err);
        if (rc < 0)
            return rc;
        at += sizeof frame + frame.packed_bytes;
    }
    return 0;
}

static int unpack(struct rp_frames *frames, uint64_t number, uint8_t *to, struct rp_err *err)
{
    const uint64_t at = frames->at[number];
    struct rp_page_frame frame;
    size_t bytes;
    int rc = read_header(frames, at, &frame, err);

    if (rc < 0)
        return rc;
    if (!frames->unpacker)
        frames->unpacker = ZSTD_createDCtx();
    if (!frames->packed)
        frames->packed = malloc(most_packed_bytes());
    if (!frames->unpacker || !frames->packed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (read_at(frames->fd, frames->packed, frame.packed_bytes, at + sizeof frame) < 0)
        return cannot_read(frames, at, err);
    bytes = ZSTD_decompressDCtx(frames->unpacker, to, RP_FRAME_BYTES, frames->packed,
                                frame.packed_bytes);
    if (ZSTD_isError(bytes) || bytes != (size_t)frame.pages * RP_PAGE_BYTES ||
        XXH3_64bits(to, bytes) != frame.hash)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is damaged: the pages of the frame at byte %" PRIu64 " are not those "
                       "that were written",
                       frames->name, at);
    return 0;
}

int rp_frames_page(struct rp_frames *frames, uint64_t number, const uint8_t **ret,
                   struct rp_err *err)
{
    const uint64_t frame = number / RP_FRAME_PAGES;
    const size_t slot = frame % RP_FRAMES_KEPT;

    if (number >= frames->pages)
        return rp_fail(err, RP_BAD_INPUT, "%s has no page %" PRIu64, frames->name, number);
    if (frames->kept[slot].frame != frame + 1) {
        int rc;

        if (!frames->kept[slot].bytes)
            frames->kept[slot].bytes = malloc(RP_FRAME_BYTES);
        if (!frames->kept[slot].bytes)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        frames->kept[slot].frame = 0; /* half of a frame is none */
        rc = unpack(frames, frame, frames->kept[slot].bytes, err);
        if (rc < 0)
            return rc;
        frames->kept[slot].frame = frame + 1;
    }
    *ret = frames->kept[slot].bytes + number % RP_FRAME_PAGES * RP_PAGE_BYTES;
    return 0;
}

void rp_frames_free(struct rp_frames *frames)
{
    for (size_t i = 0; i < RP_FRAMES_KEPT; i++)
        free(frames->kept[i].bytes);
    ZSTD_freeDCtx(frames->unpacker);
    free(frames->packed);
    free(frames->at);
    memset(frames, 0, sizeof *frames);
}
