#include "backing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memfd.h"

/* Large buffers start on a boundary where the kernel can use large pages. */
enum { BIG = RP_LARGE_PAGE };

static uint64_t round_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

/** A file beyond the program's limit would not fail but kill it (SIGXFSZ). */
static bool file_limit_allows(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
           limit.rlim_cur >= bytes;
}

/**
 * With vm.overcommit_memory = 2 a page that the host cannot provide is a SIGBUS for whoever touches
 * it. Otherwise the host kills some process when it is out of memory, and nobody can help that.
 */
static bool host_is_strict(void)
{
    char mode = '0';
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/sys/vm/overcommit_memory",
                          O_RDONLY | O_CLOEXEC); /* open() is one of our own hooks */
    if (fd < 0)
        return false;
    bool strict = read(fd, &mode, 1) == 1 && mode == '2';
    close(fd);
    return strict;
}

/** The file in one piece, on a large page's boundary. */
static uint8_t *map_window(int fd, uint64_t bytes)
{
    uint8_t *room =
        mmap(NULL, bytes + BIG, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    const uint64_t before = round_up((uintptr_t)room, BIG) - (uintptr_t)room;
    uint8_t *window = mmap(room + before, bytes, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
    if (window == MAP_FAILED) {
        int errno_before = errno;
        munmap(room, bytes + BIG);
        errno = errno_before;
        return NULL;
    }
    if (before)
        munmap(room, before);
    munmap(window + bytes, BIG - before);
    return window;
}

int rp_backing_open(struct rp_backing *store, uint64_t bytes, uint64_t reserved_bytes)
{
    *store = (struct rp_backing){.fd = -1, .bytes = bytes, .strict = host_is_strict()};
    store->free = malloc(16 * sizeof *store->free);
    if (!store->free)
        return -ENOMEM;
    store->free_capacity = 16;
    store->free[store->free_count++] = (struct rp_backing_extent){reserved_bytes, bytes};
    if (!file_limit_allows(bytes)) {
        errno = EFBIG;
        goto fail;
    }
    store->fd = rp_memfd("rocm-perf-device", MFD_CLOEXEC);
    if (store->fd < 0 || ftruncate(store->fd, (off_t)bytes) < 0)
        goto fail;
    store->window = map_window(store->fd, bytes);
    if (!store->window)
        goto fail;
    /* A forked child has no device, and a core dump need not carry the modelled memory. */
    madvise(store->window, bytes, MADV_DONTFORK);
    madvise(store->window, bytes, MADV_DONTDUMP);
    rp_large_pages_open(&store->large, store->window, bytes);
    return 0;
fail:;
    int rc = -errno;
    rp_backing_close(store);
    return rc;
}

static int reserve_extent(struct rp_backing *store)
{
    if (store->free_count < store->free_capacity)
        return 0;
    size_t capacity = store->free_capacity * 2;
    struct rp_backing_extent *grown = realloc(store->free, capacity * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    store->free = grown;
    store->free_capacity = capacity;
    return 0;
}

static void insert(struct rp_backing *store, size_t at, struct rp_backing_extent extent)
{
    memmove(&store->free[at + 1], &store->free[at], (store->free_count - at) * sizeof extent);
    store->free[at] = extent;
    store->free_count++;
}

static void erase(struct rp_backing *store, size_t at)
{
    store->free_count--;
    memmove(&store->free[at], &store->free[at + 1], (store->free_count - at) * sizeof *store->free);
}

static int find_extent(struct rp_backing *store, uint64_t bytes, uint64_t *ret_offset)
{
    if (bytes == 0 || bytes > store->bytes)
        return -EINVAL;
    bytes = round_up(bytes, RP_BACKING_PAGE);
    uint64_t align = bytes >= BIG ? BIG : RP_BACKING_PAGE;
    if (reserve_extent(store) < 0) /* for this alloc's split, or for a later free */
        return -ENOMEM;
    for (size_t i = 0; i < store->free_count; i++) {
        struct rp_backing_extent *hole = &store->free[i];
        uint64_t begin = round_up(hole->begin, align);
        if (begin > hole->end || hole->end - begin < bytes)
            continue;
        struct rp_backing_extent tail = {begin + bytes, hole->end};
        hole->end = begin;
        if (tail.begin < tail.end)
            insert(store, i + 1, tail);
        if (store->free[i].begin == store->free[i].end)
            erase(store, i);
        *ret_offset = begin;
        return 0;
    }
    return -ENOMEM;
}

int rp_backing_alloc(struct rp_backing *store, uint64_t bytes, uint64_t *ret_offset)
{
    uint64_t offset;
    int rc = find_extent(store, bytes, &offset);
    if (rc == 0)
        rp_large_pages_expect(&store->large, round_up(bytes, RP_BACKING_PAGE));
    if (rc == 0 && store->strict &&
        fallocate(store->fd, FALLOC_FL_KEEP_SIZE, (off_t)offset,
                  (off_t)round_up(bytes, RP_BACKING_PAGE)) < 0) {
        rp_backing_free(store, offset, bytes);
        rc = -ENOMEM;
    }
    if (rc == 0)
        *ret_offset = offset;
    return rc;
}

void rp_backing_free(struct rp_backing *store, uint64_t offset, uint64_t bytes)
{
    bytes = round_up(bytes, RP_BACKING_PAGE);
    madvise(store->window + offset, bytes, MADV_REMOVE); /* punches the hole, needs no fd */
    rp_large_pages_forget(&store->large, offset, bytes);
    size_t at = 0;
    while (at < store->free_count && store->free[at].begin < offset)
        at++;
    int joins_left = at > 0 && store->free[at - 1].end == offset;
    int joins_right = at < store->free_count && store->free[at].begin == offset + bytes;
    if (joins_left && joins_right) {
        store->free[at - 1].end = store->free[at].end;
        erase(store, at);
    } else if (joins_left) {
        store->free[at - 1].end = offset + bytes;
    } else if (joins_right) {
        store->free[at].begin = offset;
    } else if (reserve_extent(store) == 0) {
        insert(store, at, (struct rp_backing_extent){offset, offset + bytes});
    } /* else: the extent is lost to later allocations, its pages are already given back */
}

void rp_backing_close(struct rp_backing *store)
{
    if (store->window)
        munmap(store->window, store->bytes);
    if (store->fd >= 0)
        close(store->fd);
    free(store->free);
    rp_large_pages_close(&store->large);
    *store = (struct rp_backing){.fd = -1};
}
