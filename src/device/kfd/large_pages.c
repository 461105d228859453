#include "large_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

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

void rp_large_pages_open(struct rp_large_pages *pages, uint8_t *window, uint64_t bytes)
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

void rp_large_pages_expect(struct rp_large_pages *pages, uint64_t bytes)
{
    pages->taken_bytes += bytes;
}

void rp_large_pages_forget(struct rp_large_pages *pages, uint64_t offset, uint64_t bytes)
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

void rp_large_pages_close(struct rp_large_pages *pages)
{
    if (pages->window)
        for (size_t i = 0; i < RP_LARGE_PAGE_LOCKS; i++)
            pthread_mutex_destroy(&pages->making[i]);
    free(pages->state);
    free(pages->cost);
    *pages = (struct rp_large_pages){0};
}
