#include "capture/page_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/err.h"
#include "base/mode.h"
#include "capture/page_frames.h"

enum {
    SLOTS = 1 << 20, /* 16 MiB; finds again what was among the last 4 GiB or so of pages */
    LEVEL = 1,       /* of zstd: pages come faster than a disk takes them */
};

struct slot {
    uint64_t hash;
    uint64_t number; /* + 1; 0: free */
};

struct rp_page_store {
    char *path;
    int fd;
    uint64_t bytes;
    struct rp_frames frames;
    ZSTD_CCtx *packer;
    uint8_t *packed;
    size_t packed_room;
    uint8_t *open; /* the frame that is being filled */
    uint32_t open_pages;
    struct slot *slots;
};

bool rp_page_is_zero(const uint8_t *page)
{
    uint64_t word;

    memcpy(&word, page, sizeof word);
    return word == 0 && memcmp(page, page + sizeof word, RP_PAGE_BYTES - sizeof word) == 0;
}

int rp_page_store_open(const char *path, struct rp_page_store **ret, struct rp_err *err)
{
    struct rp_page_store *store = calloc(1, sizeof *store);

    if (!store)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
    rc = rp_frames_add(&store->frames, store->bytes, store->open_pages, err);
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
