/* Large host pages for those parts of the store that are used densely.
 *
 * The store is sparse: the host gives a page when it is first touched, 4 KiB at a time, and that
 * costs several times what filling the page does. Large pages for the whole store would take memory
 * that nobody uses. So the first use of each large page's worth of a mapping (a chunk) is noticed.
 *
 * As long as all that was allocated would fit into a part of the host's memory, the chunk becomes
 * one large page then. Otherwise it does when its neighbour was filled before it, and every
 * sixteenth chunk is left to small pages, to see whether it fills, too: a program that touches
 * little of many chunks takes at most sixteen times its memory.
 *
 * Works with MADV_COLLAPSE (Linux 6.1), which asks no setting of the system; without it nothing
 * changes. The caller serialises all but rp_large_pages_make.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memfd.h"
#include "device/driver/device_memory.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* linux/mman.h of 6.1; older C libraries do not know it */
#endif

enum {
    SMALL_PAGE = 4096,
    SMALL_PAGES = RP_LARGE_PAGE / SMALL_PAGE,
    /* State of a chunk: never used, left to small pages, or large with so many more to follow
     * unseen. */
    UNUSED = 0,
    SMALL = 1,
    LARGE = 2,
    WANTED = 0x80, /* flag: to become large before it is used */
    MOST_UNSEEN = 15,
    GIB_SHIFT = 30,
    BIG_CHUNKS = 8, /* of smaller mappings often only a little is used: the runtimes' own */
    /* A GiB that is used at random is not worth the look-ups: each costs 1, and a first use without
     * a filled neighbour as much as one with it gives back. */
    STRAY_COST = 1024,
    MOST_COST = 64 * STRAY_COST,
    MOST_FAILURES = 64,
};

/* A chunk that is so full has been filled, and its successor is going to be. */
enum { FULL_PAGES = SMALL_PAGES * 3 / 4 };

/** The first number of a file after @p label. UINT64_MAX: there is none. */
static uint64_t number_in(const char *path, const char *label)
{
    char text[4096];
    uint64_t number = UINT64_MAX;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC); /* open() is hooked */
    if (fd < 0)
        return number;
    const ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0)
        return number;
    text[length] = '\0';
    const char *at = strstr(text, label);
    if (at)
        sscanf(at + strlen(label), "%" SCNu64, &number);
    return number;
}

/** A quarter of what is free: the program's own memory and others' come on top. */
static uint64_t ample_bytes(void)
{
    const uint64_t available_kib = number_in("/proc/meminfo", "MemAvailable:");
    const uint64_t limit_bytes = number_in("/sys/fs/cgroup/memory.max", ""); /* or "max" */
    uint64_t bytes = available_kib == UINT64_MAX ? 0 : available_kib * 1024;
    return (bytes < limit_bytes ? bytes : limit_bytes) / 4;
}

static void rp_large_pages_close(struct rp_large_pages *pages);

/** @p bytes is a multiple of RP_LARGE_PAGE. Without memory: switched off. */
static void rp_large_pages_open(struct rp_large_pages *pages, uint8_t *window, uint64_t bytes)
{
    const size_t count = bytes / RP_LARGE_PAGE;
    *pages =
        (struct rp_large_pages){.window = window, .count = count, .ample_bytes = ample_bytes()};
    pages->state = calloc(count, 1);
    pages->cost = calloc((bytes >> GIB_SHIFT) + 1, sizeof *pages->cost);
    for (size_t i = 0; i < RP_LARGE_PAGE_LOCKS; i++)
        pthread_mutex_init(&pages->making[i], NULL);
    if (!pages->state || !pages->cost)
        rp_large_pages_close(pages);
}

static uint8_t state_of(const struct rp_large_pages *pages, size_t chunk)
{
    return __atomic_load_n(&pages->state[chunk], __ATOMIC_ACQUIRE);
}

static void set_state(struct rp_large_pages *pages, size_t chunk, uint8_t state)
{
    __atomic_store_n(&pages->state[chunk], state, __ATOMIC_RELEASE);
}

/** Whether a use of it need not be noticed any more. */
static bool is_settled(const struct rp_large_pages *pages, size_t chunk)
{
    const uint8_t state = state_of(pages, chunk);
    return state != UNUSED && !(state & WANTED);
}

/** So much of the store was given out. */
static void rp_large_pages_expect(struct rp_large_pages *pages, uint64_t bytes)
{
    pages->taken_bytes += bytes;
}

/** The range was given back: its pages are gone. */
static void rp_large_pages_forget(struct rp_large_pages *pages, uint64_t offset, uint64_t bytes)
{
    pages->taken_bytes -= bytes;
    const size_t first = offset / RP_LARGE_PAGE;
    const size_t last = (offset + bytes - 1) / RP_LARGE_PAGE;
    if (!pages->state || bytes < RP_LARGE_PAGE) /* no chunk is wholly in it */
        return;
    for (size_t chunk = first; chunk <= last; chunk++)
        set_state(pages, chunk, UNUSED);
    for (uint64_t gib = offset >> GIB_SHIFT; gib <= (offset + bytes - 1) >> GIB_SHIFT; gib++)
        pages->cost[gib] = 0;
}

static unsigned present_pages(const struct rp_large_pages *pages, size_t chunk)
{
    unsigned char present[SMALL_PAGES];
    unsigned count = 0;
    if (mincore(pages->window + chunk * RP_LARGE_PAGE, RP_LARGE_PAGE, present) < 0)
        return 0;
    for (unsigned i = 0; i < SMALL_PAGES; i++)
        count += present[i] & 1;
    return count;
}

/** What @p neighbour says of the chunk beside it: SMALL, or LARGE and more. */
static uint8_t suggestion(const struct rp_large_pages *pages, size_t neighbour, bool *ret_stray)
{
    const uint8_t state = state_of(pages, neighbour) & (uint8_t)~WANTED;
    if (state >= LARGE) {
        *ret_stray = false;
        return (uint8_t)(state - 1); /* the last of them suggests to see */
    }
    if (state == SMALL && present_pages(pages, neighbour) >= FULL_PAGES) {
        *ret_stray = false;
        return LARGE + MOST_UNSEEN - 1;
    }
    return SMALL;
}

/** First use of a chunk of [first, end): its state from now on. */
static uint8_t decide(struct rp_large_pages *pages, size_t chunk, size_t first, size_t end,
                      uint32_t *cost)
{
    const bool ample = end - first >= BIG_CHUNKS && pages->taken_bytes <= pages->ample_bytes;
    uint8_t state = ample ? LARGE : SMALL;
    bool stray = !ample;
    if (state == SMALL && chunk > first)
        state = suggestion(pages, chunk - 1, &stray);
    if (state == SMALL && chunk + 1 < end) /* some go downwards */
        state = suggestion(pages, chunk + 1, &stray);
    if (stray)
        *cost += STRAY_COST;
    else
        *cost -= *cost < STRAY_COST ? *cost : STRAY_COST;
    /* Full already, of the program's own doing: copying it costs more than it brings. */
    return state >= LARGE && present_pages(pages, chunk) < FULL_PAGES ? state | WANTED : state;
}

bool rp_large_pages_arrive(struct rp_large_pages *pages, uint64_t offset, uint64_t *begin,
                           uint64_t *end)
{
    const size_t first = (*begin + RP_LARGE_PAGE - 1) / RP_LARGE_PAGE;
    const size_t limit = *end / RP_LARGE_PAGE, chunk = offset / RP_LARGE_PAGE;
    uint32_t *const cost = pages->state ? &pages->cost[offset >> GIB_SHIFT] : NULL;
    uint8_t state = SMALL;
    if (!cost || first >= limit || limit > pages->count || *cost >= MOST_COST ||
        __atomic_load_n(&pages->failures, __ATOMIC_RELAXED) >= MOST_FAILURES)
        return false;
    if (chunk >= first && chunk < limit) {
        state = state_of(pages, chunk);
        if (state == UNUSED)
            set_state(pages, chunk, state = decide(pages, chunk, first, limit, cost));
    }
    /* Chunks that are only partly in the mapping are never looked at. */
    size_t from = chunk < first ? first : chunk < limit ? chunk : limit;
    size_t to = chunk >= first && chunk < limit ? chunk + 1 : from;
    while (from > first && is_settled(pages, from - 1))
        from--;
    while (to < limit && is_settled(pages, to))
        to++;
    *cost += from > first || to < limit;
    if (from > first)
        *begin = from * RP_LARGE_PAGE;
    if (to < limit)
        *end = to * RP_LARGE_PAGE;
    return state & WANTED;
}

void rp_large_pages_make(struct rp_large_pages *pages, uint64_t offset)
{
    const size_t chunk = offset / RP_LARGE_PAGE;
    uint8_t *const at = pages->window + chunk * RP_LARGE_PAGE;
    pthread_mutex_t *const lock = &pages->making[chunk % RP_LARGE_PAGE_LOCKS];
    const int errno_before = errno;
    pthread_mutex_lock(lock);
    const uint8_t state = state_of(pages, chunk);
    if (state & WANTED) {
        unsigned worse = 0;
        *(volatile uint8_t *)at; /* a chunk without any page would be refused */
        if (madvise(at, RP_LARGE_PAGE, MADV_COLLAPSE) < 0) /* EINVAL: this host never does it */
            worse = errno == EINVAL ? MOST_FAILURES : 1;
        if (worse)
            __atomic_add_fetch(&pages->failures, worse, __ATOMIC_RELAXED);
        set_state(pages, chunk, state & (uint8_t)~WANTED);
    }
    pthread_mutex_unlock(lock);
    errno = errno_before;
}

static void rp_large_pages_close(struct rp_large_pages *pages)
{
    if (pages->window)
        for (size_t i = 0; i < RP_LARGE_PAGE_LOCKS; i++)
            pthread_mutex_destroy(&pages->making[i]);
    free(pages->state);
    free(pages->cost);
    *pages = (struct rp_large_pages){0};
}

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
    if (rp_vec_push(&store->free, (struct rp_backing_extent){reserved_bytes, bytes}) < 0)
        return -ENOMEM;
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

static void insert(struct rp_backing *store, size_t at, struct rp_backing_extent extent)
{
    memmove(&store->free.items[at + 1], &store->free.items[at],
            (store->free.count - at) * sizeof extent);
    store->free.items[at] = extent;
    store->free.count++;
}

static void erase(struct rp_backing *store, size_t at)
{
    store->free.count--;
    memmove(&store->free.items[at], &store->free.items[at + 1],
            (store->free.count - at) * sizeof *store->free.items);
}

static int find_extent(struct rp_backing *store, uint64_t bytes, uint64_t *ret_offset)
{
    if (bytes == 0 || bytes > store->bytes)
        return -EINVAL;
    bytes = round_up(bytes, RP_BACKING_PAGE);
    uint64_t align = bytes >= BIG ? BIG : RP_BACKING_PAGE;
    if (rp_vec_reserve(&store->free, 1) < 0) /* for this alloc's split, or for a later free */
        return -ENOMEM;
    for (size_t i = 0; i < store->free.count; i++) {
        struct rp_backing_extent *hole = &store->free.items[i];
        uint64_t begin = round_up(hole->begin, align);
        if (begin > hole->end || hole->end - begin < bytes)
            continue;
        struct rp_backing_extent tail = {begin + bytes, hole->end};
        hole->end = begin;
        if (tail.begin < tail.end)
            insert(store, i + 1, tail);
        if (store->free.items[i].begin == store->free.items[i].end)
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
    while (at < store->free.count && store->free.items[at].begin < offset)
        at++;
    int joins_left = at > 0 && store->free.items[at - 1].end == offset;
    int joins_right = at < store->free.count && store->free.items[at].begin == offset + bytes;
    if (joins_left && joins_right) {
        store->free.items[at - 1].end = store->free.items[at].end;
        erase(store, at);
    } else if (joins_left) {
        store->free.items[at - 1].end = offset + bytes;
    } else if (joins_right) {
        store->free.items[at].begin = offset;
    } else if (rp_vec_reserve(&store->free, 1) == 0) {
        insert(store, at, (struct rp_backing_extent){offset, offset + bytes});
    } /* else: the extent is lost to later allocations, its pages are already given back */
}

void rp_backing_close(struct rp_backing *store)
{
    if (store->window)
        munmap(store->window, store->bytes);
    if (store->fd >= 0)
        close(store->fd);
    rp_vec_free(&store->free);
    rp_large_pages_close(&store->large);
    *store = (struct rp_backing){.fd = -1};
}
