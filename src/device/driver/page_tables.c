/* Where the bytes of modelled memory are, and which addresses of which GPU and of the program reach
 * them.
 *
 * Parts of the store that are used densely get large host pages. The store is sparse: the host
 * gives a page when it is first touched, 4 KiB at a time, and that costs several times what
 * filling the page does. Large pages for the whole store would take memory that nobody uses.
 *
 * So the first use of each chunk (a large page's worth of a mapping) is noticed. As long as
 * everything that was allocated would fit into a part of the host's memory, the chunk becomes one
 * large page then. Otherwise it becomes one when its neighbour was filled before it, and every
 * sixteenth chunk is left to small pages to see whether it fills as well. A program that touches
 * little of many chunks therefore takes at most sixteen times its memory.
 *
 * This works with MADV_COLLAPSE (Linux 6.1), which needs no setting of the system; without it
 * nothing changes. The caller serialises all calls but rp_large_pages_make().
 */
#include "device/driver/device_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "device/driver/kfd_abi.h"
#include "device/driver/vfs.h"
#include "device/exec/dispatch.h"
#include "device/exec/host_traps.h"
#include "device/isa/wave_state.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* It is in linux/mman.h of 6.1, and older C libraries do not know it. */
#endif

enum {
    SMALL_PAGE = 4096,
    SMALL_PAGES = RP_LARGE_PAGE / SMALL_PAGE,
    /* A chunk is never used, left to small pages, or large with so many more to follow unnoticed.
     */
    UNUSED = 0,
    SMALL = 1,
    LARGE = 2,
    WANTED = 0x80, /**< flag: to become large before it is used */
    MOST_UNSEEN = 15,
    GIB_SHIFT = 30,
    BIG_CHUNKS = 8, /**< smaller mappings, such as the runtimes' own, often use only a little */
    /* A GiB that is used at random is not worth the look-ups: each costs 1, and a first use
     * without a filled neighbour costs as much as one with it gains.
     */
    STRAY_COST = 1024,
    MOST_COST = 64 * STRAY_COST,
    MOST_FAILURES = 64,
};

/* A chunk that is so full has been filled, and its successor is going to be. */
enum { FULL_PAGES = SMALL_PAGES * 3 / 4 };

/** Returns the first number of a file after @p label, or UINT64_MAX if there is none. */
static uint64_t number_in(const char *path, const char *label)
{
    char text[4096];
    uint64_t number = UINT64_MAX;
    /* open() is hooked, so this calls the kernel. */
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
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

/** This is a quarter of what is free, because the program's own memory and others' come on top. */
static uint64_t ample_bytes(void)
{
    const uint64_t available_kib = number_in("/proc/meminfo", "MemAvailable:");
    /* The file has a number or "max". */
    const uint64_t limit_bytes = number_in("/sys/fs/cgroup/memory.max", "");
    uint64_t bytes = available_kib == UINT64_MAX ? 0 : available_kib * 1024;
    return (bytes < limit_bytes ? bytes : limit_bytes) / 4;
}

static void large_pages_close(struct rp_large_pages *pages);

/** @p bytes is a multiple of RP_LARGE_PAGE. Without memory the large pages are switched off. */
static void large_pages_open(struct rp_large_pages *pages, uint8_t *window, uint64_t bytes)
{
    const size_t count = bytes / RP_LARGE_PAGE;
    *pages =
        (struct rp_large_pages){.window = window, .count = count, .ample_bytes = ample_bytes()};
    pages->state = calloc(count, 1);
    pages->cost = calloc((bytes >> GIB_SHIFT) + 1, sizeof *pages->cost);
    for (size_t i = 0; i < RP_LARGE_PAGE_LOCKS; i++)
        pthread_mutex_init(&pages->making[i], NULL);
    if (!pages->state || !pages->cost)
        large_pages_close(pages);
}

static uint8_t state_of(const struct rp_large_pages *pages, size_t chunk)
{
    return __atomic_load_n(&pages->state[chunk], __ATOMIC_ACQUIRE);
}

static void set_state(struct rp_large_pages *pages, size_t chunk, uint8_t state)
{
    __atomic_store_n(&pages->state[chunk], state, __ATOMIC_RELEASE);
}

/** Tests whether a use of it need not be noticed any more. */
static bool is_settled(const struct rp_large_pages *pages, size_t chunk)
{
    const uint8_t state = state_of(pages, chunk);
    return state != UNUSED && !(state & WANTED);
}

/** This much of the store was given out. */
static void large_pages_expect(struct rp_large_pages *pages, uint64_t bytes)
{
    pages->taken_bytes += bytes;
}

/** The range was given back: its pages are gone. */
static void large_pages_forget(struct rp_large_pages *pages, uint64_t offset, uint64_t bytes)
{
    pages->taken_bytes -= bytes;
    const size_t first = offset / RP_LARGE_PAGE;
    const size_t last = (offset + bytes - 1) / RP_LARGE_PAGE;
    if (!pages->state || bytes < RP_LARGE_PAGE) /* No chunk is completely in it. */
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

/** Returns what @p neighbour suggests for the chunk beside it: SMALL, or LARGE and more. */
static uint8_t suggestion(const struct rp_large_pages *pages, size_t neighbour, bool *ret_stray)
{
    const uint8_t state = state_of(pages, neighbour) & (uint8_t)~WANTED;
    if (state >= LARGE) {
        *ret_stray = false;
        return (uint8_t)(state - 1); /* The last of them suggests whether the chunk will fill. */
    }
    if (state == SMALL && present_pages(pages, neighbour) >= FULL_PAGES) {
        *ret_stray = false;
        return LARGE + MOST_UNSEEN - 1;
    }
    return SMALL;
}

/** Returns the state of a chunk of [first, end) after its first use. */
static uint8_t decide(struct rp_large_pages *pages, size_t chunk, size_t first, size_t end,
                      uint32_t *cost)
{
    const bool ample = end - first >= BIG_CHUNKS && pages->taken_bytes <= pages->ample_bytes;
    uint8_t state = ample ? LARGE : SMALL;
    bool stray = !ample;
    if (state == SMALL && chunk > first)
        state = suggestion(pages, chunk - 1, &stray);
    if (state == SMALL && chunk + 1 < end) /* Some programs go downwards. */
        state = suggestion(pages, chunk + 1, &stray);
    if (stray)
        *cost += STRAY_COST;
    else
        *cost -= *cost < STRAY_COST ? *cost : STRAY_COST;
    /* The program has filled it already, so copying it costs more than it gains. */
    return state >= LARGE && present_pages(pages, chunk) < FULL_PAGES ? state | WANTED : state;
}

/**
 * Somebody is about to use @p offset, which is in a mapping of [*begin, *end) of the store. Cuts
 * these to what need not be noticed: uses in there are as good as this one.
 * @return whether to call rp_large_pages_make(offset)
 */
static bool large_pages_arrive(struct rp_large_pages *pages, uint64_t offset, uint64_t *begin,
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
    /* Chunks that are only partly in the mapping are skipped. */
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

/** Makes the chunk a large page, if the host has one, or waits until another thread has. Keeps what
 *  is in it. */
static void rp_large_pages_make(struct rp_large_pages *pages, uint64_t offset)
{
    const size_t chunk = offset / RP_LARGE_PAGE;
    uint8_t *const at = pages->window + chunk * RP_LARGE_PAGE;
    pthread_mutex_t *const lock = &pages->making[chunk % RP_LARGE_PAGE_LOCKS];
    const int errno_before = errno;
    pthread_mutex_lock(lock);
    const uint8_t state = state_of(pages, chunk);
    if (state & WANTED) {
        unsigned worse = 0;
        *(volatile uint8_t *)at; /* The host would refuse a chunk without any page. */
        /* EINVAL means that this host never does it. */
        if (madvise(at, RP_LARGE_PAGE, MADV_COLLAPSE) < 0)
            worse = errno == EINVAL ? MOST_FAILURES : 1;
        if (worse)
            __atomic_add_fetch(&pages->failures, worse, __ATOMIC_RELAXED);
        set_state(pages, chunk, state & (uint8_t)~WANTED);
    }
    pthread_mutex_unlock(lock);
    errno = errno_before;
}

static void large_pages_close(struct rp_large_pages *pages)
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
 * With vm.overcommit_memory = 2 a page that the host cannot provide raises SIGBUS in the thread
 * that touches it. Otherwise the host kills some process when it is out of memory, and nothing can
 * prevent that.
 */
static bool host_is_strict(void)
{
    char mode = '0';
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/sys/vm/overcommit_memory",
                          /* This is a direct call because open() is one of our own hooks. */
                          O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool strict = read(fd, &mode, 1) == 1 && mode == '2';
    close(fd);
    return strict;
}

/** Maps the file in one piece, on a large page's boundary. */
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

void rp_backing_close(struct rp_backing *store)
{
    if (store->window)
        munmap(store->window, store->bytes);
    if (store->fd >= 0)
        close(store->fd);
    rp_vec_free(&store->free);
    large_pages_close(&store->large);
    *store = (struct rp_backing){.fd = -1};
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
    large_pages_open(&store->large, store->window, bytes);
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
    /* It is needed for this allocation's split, or for a later free. */
    if (rp_vec_reserve(&store->free, 1) < 0)
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

void rp_backing_free(struct rp_backing *store, uint64_t offset, uint64_t bytes)
{
    bytes = round_up(bytes, RP_BACKING_PAGE);
    /* This punches the hole and needs no descriptor. */
    madvise(store->window + offset, bytes, MADV_REMOVE);
    large_pages_forget(&store->large, offset, bytes);
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
    } /* Otherwise the extent is lost to later allocations, but its pages are already given back. */
}

int rp_backing_alloc(struct rp_backing *store, uint64_t bytes, uint64_t *ret_offset)
{
    uint64_t offset;
    int rc = find_extent(store, bytes, &offset);
    if (rc == 0)
        large_pages_expect(&store->large, round_up(bytes, RP_BACKING_PAGE));
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

/* The GPU's page table says which addresses are mapped, and where their bytes are in this process.
 * Its ranges are sorted and do not overlap, so a binary search finds them. It has no lock: the
 * owner (device_memory.c) serialises calls, and only the generation may be read by anyone.
 */

/**
 * Returns the index of the first item that ends after @p va. Every item begins with its begin and
 * end.
 */
static size_t first_after(const void *items, size_t count, size_t item_bytes, uint64_t va)
{
    size_t lo = 0, hi = count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        uint64_t span[2]; /* begin, end */
        memcpy(span, (const char *)items + mid * item_bytes, sizeof span);
        if (span[1] <= va)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

#define FIRST_AFTER(list, va) first_after((list)->items, (list)->count, sizeof *(list)->items, va)

_Static_assert(offsetof(struct rp_vm_range, end) == 8 && offsetof(struct rp_page_span, end) == 8 &&
                   offsetof(struct rp_svm_range, end) == 8,
               "first_after");

static void insert_at(struct rp_vm *vm, size_t at, const struct rp_vm_range *range)
{
    memmove(&vm->items[at + 1], &vm->items[at], (vm->count - at) * sizeof *vm->items);
    vm->items[at] = *range;
    vm->count++;
}

static void bump(struct rp_vm *vm)
{
    __atomic_add_fetch(&vm->generation, 1, __ATOMIC_RELEASE);
}

int rp_vm_map(struct rp_vm *vm, const struct rp_vm_range *range)
{
    if (range->begin >= range->end)
        return -EINVAL;
    size_t at = FIRST_AFTER(vm, range->begin);
    if (at < vm->count && vm->items[at].begin < range->end)
        return -EEXIST;
    if (rp_vec_reserve(vm, 1) < 0)
        return -ENOMEM;
    insert_at(vm, at, range);
    bump(vm);
    return 0;
}

int rp_vm_unmap(struct rp_vm *vm, uint64_t begin, uint64_t end)
{
    if (begin >= end)
        return -EINVAL;
    if (rp_vec_reserve(vm, 1) < 0) /* A hole in the middle of a range makes one more range. */
        return -ENOMEM;
    size_t at = FIRST_AFTER(vm, begin);
    if (at == vm->count || vm->items[at].begin >= end)
        return 0;
    if (vm->items[at].begin < begin) {
        struct rp_vm_range tail = vm->items[at];
        vm->items[at].end = begin;
        at++;
        if (tail.end > end) {
            tail.begin = end;
            insert_at(vm, at, &tail);
            bump(vm);
            return 0;
        }
    }
    size_t last = at;
    while (last < vm->count && vm->items[last].end <= end)
        last++;
    memmove(&vm->items[at], &vm->items[last], (vm->count - last) * sizeof *vm->items);
    vm->count -= last - at;
    if (at < vm->count && vm->items[at].begin < end)
        vm->items[at].begin = end;
    bump(vm);
    return 0;
}

/** Returns the range that holds @p va, or NULL. It is valid until the next map or unmap. */
static const struct rp_vm_range *vm_find(const struct rp_vm *vm, uint64_t va)
{
    size_t at = FIRST_AFTER(vm, va);
    return at < vm->count && vm->items[at].begin <= va ? &vm->items[at] : NULL;
}

const struct rp_vm_range *rp_vm_next(const struct rp_vm *vm, uint64_t va)
{
    size_t at = FIRST_AFTER(vm, va);
    return at < vm->count ? &vm->items[at] : NULL;
}

/**
 * Returns the host pointer for [va, va + bytes), which may cross ranges that continue each other.
 * It is NULL if any byte is not mapped (or not writable when @p write).
 */
static void *vm_translate(const struct rp_vm *vm, uint64_t va, uint64_t bytes, bool write)
{
    if (bytes == 0 || va + bytes < va)
        return NULL;
    const struct rp_vm_range *range = vm_find(vm, va);
    if (!range)
        return NULL;
    const struct rp_vm_range *limit = vm->items + vm->count;
    int64_t delta = range->delta;
    uint64_t reached = va;
    for (; range < limit && range->begin <= reached && range->delta == delta; range++) {
        if (write && !range->writable)
            return NULL;
        reached = range->end;
        if (reached >= va + bytes)
            return (void *)(uintptr_t)(va + (uint64_t)delta);
    }
    return NULL;
}

/* Tests for memory of devices, and the kernel's own pages, because hardware's page faults refuse
 * those too.
 */
static bool refused(const char *path)
{
    static const char *const prefixes[] = {"/memfd:rocm-perf-device", "/dev/dri/", "/dev/kfd",
                                           "[vvar", "[vsyscall"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/** Adds a line of the table: "begin-end rwxp offset device inode path". */
static int add_line(struct rp_pages *pages, const char *line)
{
    struct rp_page_span span;
    char rights[5];
    int path = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &span.begin, &span.end, rights,
               &path) != 3 ||
        rights[0] != 'r' || refused(line + path))
        return 0;
    span.writable = rights[1] == 'w';
    return rp_vec_push(pages, span);
}

static void read_table(struct rp_pages *pages)
{
    char text[16384];
    size_t held = 0;
    ssize_t n;
    pages->count = 0;
    /* These are direct calls because open() is one of our own hooks. */
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    while ((n = read(fd, text + held, sizeof text - 1 - held)) > 0) {
        char *line = text, *end;
        held += (size_t)n;
        text[held] = '\0';
        while ((end = strchr(line, '\n'))) {
            *end = '\0';
            if (add_line(pages, line) < 0)
                break;
            line = end + 1;
        }
        held -= (size_t)(line - text);
        if (held == sizeof text - 1) /* No such line exists, because paths end at 4096 bytes. */
            held = 0;
        memmove(text, line, held);
    }
    close(fd);
}

static bool look_up(const struct rp_pages *pages, uint64_t va, bool write, uint64_t *ret_begin,
                    uint64_t *ret_end)
{
    size_t first = FIRST_AFTER(pages, va), last = first;
    const struct rp_page_span *spans = pages->items;
    if (first == pages->count || spans[first].begin > va || (write && !spans[first].writable))
        return false;
    while (first > 0 && spans[first - 1].end == spans[first].begin &&
           (!write || spans[first - 1].writable))
        first--;
    while (last + 1 < pages->count && spans[last + 1].begin == spans[last].end &&
           (!write || spans[last + 1].writable))
        last++;
    *ret_begin = spans[first].begin;
    *ret_end = spans[last].end;
    return true;
}

/**
 * Finds the span around @p va in which the program can read every byte (@p write: and write). The
 * device's own files do not count, because a GPU reaches them through its page table only.
 */
static bool pages_find(struct rp_pages *pages, uint64_t va, bool write, uint64_t generation,
                       uint64_t *ret_begin, uint64_t *ret_end)
{
    if (pages->generation == generation && look_up(pages, va, write, ret_begin, ret_end))
        return true;
    read_table(pages);
    pages->generation = generation;
    return look_up(pages, va, write, ret_begin, ret_end);
}

const struct rp_svm_range *rp_svm_ranges_next(const struct rp_svm_ranges *ranges, uint64_t va)
{
    size_t at = FIRST_AFTER(ranges, va);
    return at < ranges->count ? &ranges->items[at] : NULL;
}

/** Tests whether @p va lies in no range, and finds what lies between its neighbours. */
static bool svm_ranges_hole(const struct rp_svm_ranges *ranges, uint64_t va, uint64_t *ret_begin,
                            uint64_t *ret_end)
{
    size_t at = FIRST_AFTER(ranges, va);
    if (at < ranges->count && ranges->items[at].begin <= va)
        return false;
    *ret_begin = at > 0 ? ranges->items[at - 1].end : 0;
    *ret_end = at < ranges->count ? ranges->items[at].begin : UINT64_MAX;
    return true;
}

/** Appends, and joins neighbours that say the same: programs set the same ranges over and over. */
static void append(struct rp_svm_ranges *to, const struct rp_svm_range *range)
{
    struct rp_svm_range *last = to->count ? &to->items[to->count - 1] : NULL;
    if (range->begin >= range->end)
        return;
    if (last && last->end == range->begin &&
        memcmp(&last->attributes, &range->attributes, sizeof range->attributes) == 0)
        last->end = range->end;
    else
        to->items[to->count++] = *range;
}

static struct rp_svm_range part(const struct rp_svm_range *of, uint64_t begin, uint64_t end)
{
    struct rp_svm_range piece = *of;
    if (piece.begin < begin)
        piece.begin = begin;
    if (piece.end > end)
        piece.end = end;
    return piece;
}

/** Makes room for @p ranges, each of them cut twice, with a piece between any two. */
static int begin_copy(const struct rp_svm_ranges *ranges, struct rp_svm_ranges *ret)
{
    *ret = (struct rp_svm_ranges){0};
    return rp_vec_reserve(ret, 2 * ranges->count + 3) < 0 ? -ENOMEM : 0;
}

int rp_svm_ranges_update(struct rp_svm_ranges *ranges, uint64_t begin, uint64_t end,
                         const struct rp_svm_attributes *initial,
                         void (*change)(struct rp_svm_attributes *attributes, const void *ctx),
                         const void *ctx)
{
    struct rp_svm_ranges fresh;
    uint64_t reached = begin;
    size_t i = 0;
    if (begin_copy(ranges, &fresh) < 0)
        return -ENOMEM;
    for (; i < ranges->count && ranges->items[i].begin < end; i++) {
        struct rp_svm_range before = part(&ranges->items[i], 0, begin);
        struct rp_svm_range inside = part(&ranges->items[i], begin, end);
        append(&fresh, &before);
        if (inside.begin >= inside.end)
            continue;
        struct rp_svm_range gap = {reached, inside.begin, *initial};
        if (gap.begin < gap.end)
            change(&gap.attributes, ctx);
        append(&fresh, &gap);
        change(&inside.attributes, ctx);
        append(&fresh, &inside);
        reached = inside.end;
    }
    struct rp_svm_range gap = {reached, end, *initial};
    if (gap.begin < gap.end)
        change(&gap.attributes, ctx);
    append(&fresh, &gap);
    if (i > 0) {
        struct rp_svm_range after = part(&ranges->items[i - 1], end, UINT64_MAX);
        append(&fresh, &after);
    }
    for (; i < ranges->count; i++)
        append(&fresh, &ranges->items[i]);
    free(ranges->items);
    *ranges = fresh;
    return 0;
}

/** Forgets [begin, end): its memory is gone. Returns 0 or -ENOMEM. */
static int svm_ranges_forget(struct rp_svm_ranges *ranges, uint64_t begin, uint64_t end)
{
    struct rp_svm_ranges fresh;
    const struct rp_svm_range *first = rp_svm_ranges_next(ranges, begin);
    if (!first || first->begin >= end)
        return 0;
    if (begin_copy(ranges, &fresh) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < ranges->count; i++) {
        struct rp_svm_range before = part(&ranges->items[i], 0, begin);
        struct rp_svm_range after = part(&ranges->items[i], end, UINT64_MAX);
        append(&fresh, &before);
        append(&fresh, &after);
    }
    free(ranges->items);
    *ranges = fresh;
    return 0;
}

/* Kernels see the page tables and the program's own pages. */

/* ---- the program's own pages -------------------------------------------------------------- */

int rp_memory_set_shared(struct rp_memory *memory, unsigned gpu, uint64_t va, uint64_t end,
                         bool visible, bool writable)
{
    struct rp_vm *vm = &memory->vm[gpu];
    while (va < end) {
        const struct rp_vm_range *next = rp_vm_next(vm, va);
        bool hole = !next || next->begin > va;
        uint64_t stop = !next ? end : hole ? next->begin : next->end;
        bool wrong = !hole && next->svm && (!visible || next->writable != writable);
        if (stop > end)
            stop = end;
        if (wrong && rp_vm_unmap(vm, va, stop) < 0)
            return -ENOMEM;
        struct rp_vm_range shared = {
            .begin = va, .end = stop, .writable = writable, .shared = true, .svm = true};
        int rc = visible && (hole || wrong) ? rp_vm_map(vm, &shared) : 0;
        if (rc < 0)
            return rc;
        memory->shared_ranges++;
        va = stop;
    }
    return 0;
}

/** Returns whether anything was shared. */
static bool unshare_locked(struct rp_vm *vm, uint64_t va, uint64_t end)
{
    uint64_t generation = vm->generation;
    const struct rp_vm_range *range;
    while (va < end && (range = rp_vm_next(vm, va)) && range->begin < end) {
        uint64_t stop = range->end < end ? range->end : end;
        if (range->shared && rp_vm_unmap(vm, va, stop) < 0)
            break;
        va = stop;
    }
    return vm->generation != generation;
}

void rp_memory_host_unmapped(struct rp_memory *memory, uint64_t va, uint64_t bytes)
{
    const uint64_t end = (va + bytes + RP_BACKING_PAGE - 1) & ~(uint64_t)(RP_BACKING_PAGE - 1);
    if (va % RP_BACKING_PAGE || end <= va || /* The kernel will refuse it. */
        __atomic_load_n(&memory->shared_ranges, __ATOMIC_RELAXED) == 0)
        return;
    pthread_mutex_lock(&memory->lock);
    bool changed = false;
    /* If memory does not suffice to cut a range, its attributes stay, as they are wrong for
     * nobody's pages.
     */
    svm_ranges_forget(&memory->svm, va, end);
    for (unsigned gpu = 0; gpu < memory->gpu_count; gpu++)
        changed |= unshare_locked(&memory->vm[gpu], va, end);
    pthread_mutex_unlock(&memory->lock);
    if (changed) /* A kernel may be using these pages, and its next access must fault. */
        rp_exec_settle();
}

/* ---- what kernels see --------------------------------------------------------------------- */

/** Pages of the program that the page table shows are guarded like those that it borrows. */
static void lend_shared(const struct rp_memory *memory, const struct rp_vm_range *range)
{
    if (memory->xnack && range && range->shared)
        rp_trap_borrow(range->begin + (uint64_t)range->delta, range->end + (uint64_t)range->delta);
}

void *rp_memory_translate(struct rp_memory *memory, unsigned gpu, uint64_t va, uint64_t bytes,
                          int write)
{
    pthread_mutex_lock(&memory->lock);
    /* The memory may be in several ranges. */
    for (uint64_t at = va; memory->xnack && at < va + bytes;) {
        const struct rp_vm_range *range = vm_find(&memory->vm[gpu], at);
        if (!range)
            break;
        lend_shared(memory, range);
        at = range->end;
    }
    void *host = vm_translate(&memory->vm[gpu], va, bytes, write != 0);
    pthread_mutex_unlock(&memory->lock);
    return host;
}

/** The sum changes with every page table, and then the program's mappings have changed as well. */
static uint64_t generations(const struct rp_memory *memory)
{
    uint64_t sum = 1;
    for (unsigned gpu = 0; gpu < memory->gpu_count; gpu++)
        sum += memory->vm[gpu].generation;
    return sum;
}

/**
 * Finds the program's own pages around @p va, as far as the GPU's page table has no entry for
 * them.
 */
static bool borrow(struct rp_memory *memory, const struct rp_vm *vm, uint64_t va, bool write,
                   uint64_t *ret_begin, uint64_t *ret_end)
{
    uint64_t begin, end;
    uint64_t said_begin, said_end;
    /* Where attributes are set, the page table has everything that may be seen. */
    if (!svm_ranges_hole(&memory->svm, va, &said_begin, &said_end) ||
        !pages_find(&memory->pages, va, write, generations(memory), &begin, &end))
        return false;
    if (said_begin > begin)
        begin = said_begin;
    if (said_end < end)
        end = said_end;
    const struct rp_vm_range *next = rp_vm_next(vm, va);
    size_t before = next ? (size_t)(next - vm->items) : vm->count;
    if (next && next->begin < end)
        end = next->begin;
    if (before && vm->items[before - 1].end > begin)
        begin = vm->items[before - 1].end;
    *ret_begin = begin;
    *ret_end = end;
    return true;
}

bool rp_memory_is_programs(struct rp_memory *memory, uint64_t va, bool write)
{
    uint64_t begin, end;
    pthread_mutex_lock(&memory->lock);
    bool is = pages_find(&memory->pages, va, write, generations(memory), &begin, &end);
    pthread_mutex_unlock(&memory->lock);
    return is;
}

/** Cuts a range of shared pages to those of which the same was said. */
static void clip_to_said(const struct rp_memory *memory, uint64_t va, uint64_t *begin,
                         uint64_t *end)
{
    const struct rp_svm_range *said = rp_svm_ranges_next(&memory->svm, va);
    if (!said || said->begin > va)
        return;
    if (said->begin > *begin)
        *begin = said->begin;
    if (said->end < *end)
        *end = said->end;
}

/**
 * Cuts [*begin, *end), which is somewhere in this process, to what need not be looked up again; the
 * store learns that it is used. Returns whether it has a page to make at *ret_offset.
 */
static bool note_use(struct rp_memory *memory, uint64_t host, int64_t delta, uint64_t *begin,
                     uint64_t *end, uint64_t *ret_offset)
{
    const uint64_t window = (uintptr_t)memory->store.window;
    uint64_t from = *begin + (uint64_t)delta - window, to = *end + (uint64_t)delta - window;
    if (from >= memory->store.bytes || to > memory->store.bytes)
        return false;
    bool make = large_pages_arrive(&memory->store.large, host - window, &from, &to);
    *begin = from + window - (uint64_t)delta;
    *end = to + window - (uint64_t)delta;
    *ret_offset = host - window;
    return make;
}

int rp_memory_range(struct rp_memory *memory, unsigned gpu, uint64_t va, int write,
                    uint64_t *ret_begin, uint64_t *ret_end, int64_t *ret_delta)
{
    uint64_t offset = 0;
    bool make = false;
    pthread_mutex_lock(&memory->lock);
    const struct rp_vm_range *range = vm_find(&memory->vm[gpu], va);
    int found = range && (!write || range->writable);
    if (found) {
        *ret_begin = range->begin;
        *ret_end = range->end;
        *ret_delta = range->delta;
        lend_shared(memory, range);
        if (range->svm) /* All of the range is in one place. */
            clip_to_said(memory, va, ret_begin, ret_end);
        make = note_use(memory, va + (uint64_t)range->delta, range->delta, ret_begin, ret_end,
                        &offset);
    } else if (!range && memory->xnack &&
               borrow(memory, &memory->vm[gpu], va, write != 0, ret_begin, ret_end)) {
        rp_trap_borrow(*ret_begin, *ret_end);
        *ret_delta = 0;
        found = 1;
    }
    pthread_mutex_unlock(&memory->lock);
    /* It takes as long as copying the page; the buffer cannot go while somebody looks up its place
     * (rp_exec_settle), and the store outlives it. */
    if (make)
        rp_large_pages_make(&memory->store.large, offset);
    return found;
}

/**
 * Returns the GPU to whose memory the program's pages at @p va have been prefetched, + 1; 0 means
 * the host's. As in the driver without XNACK, nothing else moves them.
 */
static unsigned svm_home_of_pages(const struct rp_memory *memory, uint64_t va)
{
    const struct rp_svm_range *said = rp_svm_ranges_next(&memory->svm, va);
    uint32_t at = said && said->begin <= va ? said->attributes.prefetched : 0;
    uint32_t gpu = at - RP_TOPOLOGY_GPU_ID;
    return gpu < memory->gpu_count ? gpu + 1 : 0;
}

enum rp_memory_location rp_memory_place(struct rp_memory *memory, unsigned gpu, uint64_t va)
{
    pthread_mutex_lock(&memory->lock);
    const struct rp_vm_range *range = vm_find(&memory->vm[gpu], va);
    unsigned home = !range       ? (memory->xnack ? 0 : gpu + 1)
                    : range->svm ? svm_home_of_pages(memory, va)
                                 : range->home;
    pthread_mutex_unlock(&memory->lock);
    return home == 0 ? RP_PLACE_HOST : home == gpu + 1 ? RP_PLACE_LOCAL : RP_PLACE_PEER;
}
