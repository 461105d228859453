#include "trace/capture.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "base/vec.h"

#define RP_FRAME_MAGIC "RPPF"

struct rp_page_frame {
    char magic[4];
    uint32_t pages;
    uint32_t packed_bytes; /**< they follow */
    uint32_t reserved;
    uint64_t hash; /**< XXH3, 64 bits, of the pages */
};

static_assert(sizeof(struct rp_page_frame) == 24, "part of the file format");

int rp_capture_open_file(const char *path, int *ret_fd, struct rp_err *err)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat st;

    if (fd < 0 && errno == ENOENT)
        return rp_fail(err, RP_BAD_INPUT, "%s is missing", path);
    /* ENXIO means that the file is a socket, or a device that does not exist. */
    if (fd < 0 && errno != ENXIO)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s", path);
    if (fd >= 0 && fstat(fd, &st) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s", path);
    if (fd < 0 || !S_ISREG(st.st_mode))
        return rp_fail(err, RP_BAD_INPUT, "%s is damaged: it is no regular file", path);
    *ret_fd = fd;
    fd = -1;
    return 0;
}

/* This reads through a stream, because json_loadfd() reads one byte at a time. */
int rp_capture_load_json(const char *path, json_error_t *why, json_t **ret, struct rp_err *err)
{
    rp_autoclose int fd = -1;
    FILE *stream;
    int rc = rp_capture_open_file(path, &fd, err);

    if (rc < 0)
        return rc;
    stream = fdopen(fd, "r");
    if (!stream)
        return rp_out_of_memory(err);
    fd = -1; /* The stream owns the descriptor now. */
    *ret = json_loadf(stream, JSON_REJECT_DUPLICATES, why);
    fclose(stream);
    return 0;
}

/* Pages that cannot be compressed grow a little. A frame of more bytes than this was not written
 * by this program.
 */
static size_t max_packed_bytes(void)
{
    return ZSTD_compressBound(RP_FRAME_BYTES);
}

/** A frame has been written, or was found. */
static int frames_add(struct rp_frames *frames, uint64_t at, uint32_t pages, struct rp_err *err)
{
    uint64_t *place = rp_array_add(&frames->at, &frames->count);

    if (!place)
        return rp_out_of_memory(err);
    *place = at;
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
        ret->packed_bytes > max_packed_bytes())
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
        rc = frames_add(frames, at, frame.pages, err);
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
        frames->packed = malloc(max_packed_bytes());
    if (!frames->unpacker || !frames->packed)
        return rp_out_of_memory(err);
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
            return rp_out_of_memory(err);
        frames->kept[slot].frame = 0; /* A frame that was read only in part is not kept. */
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

enum {
    SLOTS = 1 << 20, /**< 16 MiB; finds again what was among the last 4 GiB or so of pages */
    LEVEL = 1,       /**< of zstd: pages come faster than a disk takes them */
};

struct slot {
    uint64_t hash;
    uint64_t number; /**< + 1; 0: free */
};

struct rp_page_store {
    char *path;
    int fd;
    uint64_t bytes;
    struct rp_frames frames;
    ZSTD_CCtx *packer;
    uint8_t *packed;
    size_t packed_room;
    uint8_t *open; /**< the frame that is being filled */
    uint32_t open_pages;
    struct slot *slots;
};

int rp_page_store_open(const char *path, struct rp_page_store **ret, struct rp_err *err)
{
    struct rp_page_store *store = calloc(1, sizeof *store);

    if (!store)
        return rp_out_of_memory(err);
    store->packed_room = ZSTD_compressBound(RP_FRAME_BYTES);
    store->path = strdup(path);
    store->packer = ZSTD_createCCtx();
    store->packed = malloc(store->packed_room);
    store->open = malloc(RP_FRAME_BYTES);
    store->slots = calloc(SLOTS, sizeof *store->slots);
    store->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, RP_MODE_PRIVATE_FILE);
    if (store->fd < 0) {
        int saved = errno;

        rp_page_store_free(store);
        return rp_fail_errno(err, RP_ENVIRONMENT, saved, "cannot write %s", path);
    }
    if (!store->path || !store->packer || !store->packed || !store->open || !store->slots ||
        ZSTD_isError(ZSTD_CCtx_setParameter(store->packer, ZSTD_c_compressionLevel, LEVEL))) {
        rp_page_store_free(store);
        return rp_out_of_memory(err);
    }
    store->frames.fd = store->fd;
    store->frames.name = store->path;
    *ret = store;
    return 0;
}

static int write_frame(int fd, const struct rp_page_frame *frame, const uint8_t *packed)
{
    struct iovec parts[] = {{(void *)(uintptr_t)frame, sizeof *frame},
                            {(void *)(uintptr_t)packed, frame->packed_bytes}};
    size_t at = 0;

    while (at < 2) {
        ssize_t put = writev(fd, parts + at, (int)(2 - at));

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        for (; at < 2 && (size_t)put >= parts[at].iov_len; at++)
            put -= (ssize_t)parts[at].iov_len;
        if (at < 2) {
            parts[at].iov_base = (char *)parts[at].iov_base + put;
            parts[at].iov_len -= (size_t)put;
        }
    }
    return 0;
}

static int close_frame(struct rp_page_store *store, struct rp_err *err)
{
    const size_t bytes = (size_t)store->open_pages * RP_PAGE_BYTES;
    struct rp_page_frame frame = {.pages = store->open_pages,
                                  .hash = XXH3_64bits(store->open, bytes)};
    size_t packed;
    int rc;

    if (!store->open_pages)
        return 0;
    memcpy(frame.magic, RP_FRAME_MAGIC, sizeof frame.magic);
    packed = ZSTD_compress2(store->packer, store->packed, store->packed_room, store->open, bytes);
    if (ZSTD_isError(packed))
        return rp_fail(err, RP_ENVIRONMENT, "cannot pack pages for %s: %s", store->path,
                       ZSTD_getErrorName(packed));
    frame.packed_bytes = (uint32_t)packed;
    if (write_frame(store->fd, &frame, store->packed) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", store->path);
    rc = frames_add(&store->frames, store->bytes, store->open_pages, err);
    if (rc < 0)
        return rc;
    store->bytes += sizeof frame + packed;
    store->open_pages = 0;
    return 0;
}

static int stored_page(struct rp_page_store *store, uint64_t number, const uint8_t **ret,
                       struct rp_err *err)
{
    if (number < store->frames.pages)
        return rp_frames_page(&store->frames, number, ret, err);
    *ret = store->open + (number - store->frames.pages) * RP_PAGE_BYTES;
    return 0;
}

int rp_page_store_equals(struct rp_page_store *store, uint64_t number, const uint8_t *page,
                         bool *ret, struct rp_err *err)
{
    const uint8_t *stored;
    int rc;

    if (number == RP_STORED_ZERO) {
        *ret = rp_page_is_zero(page);
        return 0;
    }
    rc = stored_page(store, number, &stored, err);
    if (rc == 0)
        *ret = memcmp(stored, page, RP_PAGE_BYTES) == 0;
    return rc;
}

int rp_page_store_put(struct rp_page_store *store, const uint8_t *page, uint64_t *ret_number,
                      struct rp_err *err)
{
    const uint64_t hash = XXH3_64bits(page, RP_PAGE_BYTES);
    struct slot *slot = &store->slots[hash % SLOTS];
    int rc;

    if (slot->number && slot->hash == hash) {
        bool same;

        rc = rp_page_store_equals(store, slot->number - 1, page, &same, err);
        if (rc < 0)
            return rc;
        if (same) {
            *ret_number = slot->number - 1;
            return 0;
        }
    }
    if (store->open_pages == RP_FRAME_PAGES && (rc = close_frame(store, err)) < 0)
        return rc;
    memcpy(store->open + (size_t)store->open_pages * RP_PAGE_BYTES, page, RP_PAGE_BYTES);
    *ret_number = store->frames.pages + store->open_pages++;
    *slot = (struct slot){.hash = hash, .number = *ret_number + 1};
    return 0;
}

uint64_t rp_page_store_pages(const struct rp_page_store *store)
{
    return store->frames.pages + store->open_pages;
}

int rp_page_store_finish(struct rp_page_store *store, struct rp_err *err)
{
    int rc = close_frame(store, err);

    if (rc == 0 && fsync(store->fd) < 0)
        rc = rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", store->path);
    return rc;
}

void rp_page_store_free(struct rp_page_store *store)
{
    if (!store)
        return;
    rp_frames_free(&store->frames);
    if (store->fd >= 0)
        close(store->fd);
    ZSTD_freeCCtx(store->packer);
    free(store->packed);
    free(store->open);
    free(store->slots);
    free(store->path);
    free(store);
}

/* --- reading ------------------------------------------------------------------------------- */

static int check_header(const char *name, const struct rp_region_header *h, size_t size,
                        struct rp_err *err)
{
    if (size < sizeof *h || memcmp(h->magic, RP_REGION_MAGIC, sizeof h->magic) != 0)
        return rp_fail(err, RP_BAD_INPUT, "%s is no map of a captured region", name);
    if (h->version != RP_REGION_VERSION || h->page_bytes != RP_PAGE_BYTES)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is of version %" PRIu32 " with pages of %" PRIu32
                       " bytes: this program reads version %d with pages of %d",
                       name, h->version, h->page_bytes, RP_REGION_VERSION, RP_PAGE_BYTES);
    if (h->state > RP_STATE_AFTER || h->bytes > UINT64_MAX - h->base)
        return rp_fail(err, RP_BAD_INPUT, "%s is damaged: its header makes no sense", name);
    if ((size - sizeof *h) / sizeof(struct rp_page_run) != h->run_count ||
        (size - sizeof *h) % sizeof(struct rp_page_run))
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is cut short or damaged: %zu bytes do not hold %" PRIu64 " runs", name,
                       size, h->run_count);
    return 0;
}

static bool is_sound(const struct rp_page_run *run, uint64_t from_page, uint64_t page_count,
                     uint64_t stored_pages)
{
    return run->page >= from_page && run->page < page_count && run->pages > 0 &&
           run->pages <= page_count - run->page &&
           (run->stored == RP_STORED_ZERO ||
            (run->stored < stored_pages && run->pages <= stored_pages - run->stored));
}

/** Does the same for bytes in memory, aligned to 8, which must outlive the map. */
static int region_map_parse(const char *name, const void *bytes, size_t size, uint64_t stored_pages,
                            struct rp_region_map *ret, struct rp_err *err)
{
    const struct rp_region_header *h = bytes;
    const struct rp_page_run *runs = (const void *)((const char *)bytes + sizeof *h);
    uint64_t from_page = 0;
    int rc = check_header(name, h, size, err);

    if (rc < 0)
        return rc;
    if (XXH3_64bits(runs, size - sizeof *h) != h->hash)
        return rp_fail(err, RP_BAD_INPUT, "%s is damaged: its runs are not those that were written",
                       name);
    for (uint64_t i = 0; i < h->run_count; i++) {
        if (!is_sound(&runs[i], from_page, rp_pages_of(h->bytes), stored_pages))
            return rp_fail(err, RP_BAD_INPUT,
                           "%s is damaged: run %" PRIu64 " (page %" PRIu64 ", %" PRIu64
                           " pages) goes back or beyond an end",
                           name, i, runs[i].page, runs[i].pages);
        from_page = runs[i].page + runs[i].pages;
    }
    *ret = (struct rp_region_map){.header = *h, .runs = runs};
    return 0;
}

int rp_region_map_open(const char *path, uint64_t stored_pages, struct rp_region_map *ret,
                       struct rp_err *err)
{
    rp_autoclose int fd = -1;
    struct rp_region_map map;
    struct stat st;
    void *bytes;
    int rc = rp_capture_open_file(path, &fd, err);

    if (rc < 0)
        return rc;
    if (fstat(fd, &st) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s", path);
    if ((size_t)st.st_size < sizeof(struct rp_region_header))
        return rp_fail(err, RP_BAD_INPUT, "%s is no map of a captured region", path);
    bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s", path);
    rc = region_map_parse(path, bytes, (size_t)st.st_size, stored_pages, &map, err);
    if (rc < 0) {
        munmap(bytes, (size_t)st.st_size);
        return rc;
    }
    map.mapped = bytes;
    map.mapped_bytes = (size_t)st.st_size;
    *ret = map;
    return 0;
}

void rp_region_map_close(struct rp_region_map *map)
{
    if (map->mapped)
        munmap(map->mapped, map->mapped_bytes);
    memset(map, 0, sizeof *map);
}

const struct rp_page_run *rp_region_map_find(const struct rp_region_map *map, uint64_t page)
{
    uint64_t low = 0, high = map->header.run_count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (map->runs[middle].page + map->runs[middle].pages <= page)
            low = middle + 1;
        else
            high = middle;
    }
    return low < map->header.run_count ? &map->runs[low] : NULL;
}
