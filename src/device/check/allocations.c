/*
 * Which memory the program has allocated on the device, and what it has not written since.
 *
 * While bounds are checked an allocation gets a page more than was asked for, so that what is just
 * behind it is nobody else's. While reads of unwritten memory are found it begins with words that
 * follow from their addresses; whoever reads such a word reads what nobody has written, be it a
 * kernel, a copy or the host. What is freed is not given back at once, so that whoever still comes
 * there is found, and harms nobody else.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/check/check.h"

enum { MOST_FILLED = 64 << 20 }; /* Larger ones would take the host's memory. */

enum { MOST_HELD = 256, MOST_HELD_BYTES = 64 << 20 };

/* Sorted by begin. The program allocates from any thread. */
static struct {
    pthread_mutex_t lock;
    struct rp_allocation *at;
    size_t count, room;
    struct rp_allocation held[MOST_HELD + 1]; /**< freed and not given back: a ring */
    size_t first_held, held_count;
    uint64_t held_bytes;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns the index of the first one that begins above @p va. */
static size_t behind(uint64_t va)
{
    size_t low = 0, high = all.count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (all.at[middle].begin <= va)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool make_room(void)
{
    if (all.count < all.room)
        return true;
    const size_t more = all.room ? 2 * all.room : 256;
    struct rp_allocation *grown = realloc(all.at, more * sizeof *grown);
    if (!grown)
        return false;
    all.at = grown;
    all.room = more;
    return true;
}

uint64_t rp_allocation_padding(uint64_t bytes)
{
    const bool fits = bytes <= UINT64_MAX - RP_ALLOCATION_PADDING;
    return rp_check_what() & RP_CHECK_BOUNDS && fits ? RP_ALLOCATION_PADDING : 0;
}

bool rp_allocation_is_filled(uint64_t bytes)
{
    return rp_check_what() & RP_CHECK_UNINIT && bytes <= MOST_FILLED;
}

uint32_t rp_allocation_word(uint64_t va)
{
    uint64_t x = (va / 4 + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)(x >> 32) | 1;
}

static void drop(size_t at)
{
    memmove(all.at + at, all.at + at + 1, (all.count - at - 1) * sizeof *all.at);
    all.count--;
}

/* Takes out what began where something else is now, and what was freed there. */
static void drop_below(const struct rp_allocation *fresh)
{
    const uint64_t begin = fresh->begin, bytes = fresh->bytes ? fresh->bytes : 1;
    size_t at = behind(begin + bytes - 1);
    while (at && (all.at[at - 1].begin >= begin ||
                  (all.at[at - 1].freed && all.at[at - 1].begin + all.at[at - 1].bytes > begin)))
        drop(--at);
}

void rp_allocation_add(const struct rp_allocation *fresh)
{
    pthread_mutex_lock(&all.lock);
    drop_below(fresh);
    if (make_room()) {
        const size_t at = behind(fresh->begin);
        memmove(all.at + at + 1, all.at + at, (all.count - at) * sizeof *all.at);
        all.at[at] = *fresh;
        all.count++;
    }
    pthread_mutex_unlock(&all.lock);
}

/* Returns the live one that begins there, or NULL. */
static struct rp_allocation *find(uint64_t begin)
{
    const size_t at = behind(begin);
    struct rp_allocation *a = at ? &all.at[at - 1] : NULL;
    return a && a->begin == begin && !a->freed ? a : NULL;
}

uint64_t rp_allocation_padding_of(uint64_t begin)
{
    pthread_mutex_lock(&all.lock);
    const bool known = find(begin);
    pthread_mutex_unlock(&all.lock);
    return known ? rp_allocation_padding(0) : 0;
}

void rp_allocation_forget(uint64_t begin)
{
    pthread_mutex_lock(&all.lock);
    struct rp_allocation *a = find(begin);
    if (a && a->of_hip)
        drop((size_t)(a - all.at));
    pthread_mutex_unlock(&all.lock);
}

uint64_t rp_allocation_release(void)
{
    uint64_t begin = 0;
    pthread_mutex_lock(&all.lock);
    if (all.held_count > MOST_HELD || all.held_bytes > MOST_HELD_BYTES) {
        const struct rp_allocation *a = &all.held[all.first_held];
        const size_t at = behind(a->begin);
        all.first_held = (all.first_held + 1) % (MOST_HELD + 1);
        all.held_count--;
        all.held_bytes -= a->bytes;
        begin = a->begin;
        /* Something that nobody is told of may lie there soon. */
        if (at && all.at[at - 1].begin == begin && all.at[at - 1].freed)
            drop(at - 1);
    }
    pthread_mutex_unlock(&all.lock);
    return begin;
}

bool rp_allocation_free(uint64_t begin)
{
    pthread_mutex_lock(&all.lock);
    struct rp_allocation *a = find(begin);
    const bool held = a && rp_check_what() & RP_CHECK_BOUNDS && a->bytes <= MOST_HELD_BYTES / 4 &&
                      all.held_count <= MOST_HELD;
    if (held) {
        a->freed = true;
        all.held[(all.first_held + all.held_count++) % (MOST_HELD + 1)] = *a;
        all.held_bytes += a->bytes;
    } else if (a) {
        drop((size_t)(a - all.at));
    }
    pthread_mutex_unlock(&all.lock);
    return held;
}

static uint64_t distance_of(const struct rp_allocation *a, uint64_t va, uint64_t bytes)
{
    if (va < a->begin)
        return a->begin - va;
    return va + bytes > a->begin + a->bytes ? va + bytes - (a->begin + a->bytes) : 0;
}

/* What is freed counts only for what is inside. */
static bool is_candidate(const struct rp_allocation *a, uint64_t va, uint64_t bytes)
{
    return !a->freed || distance_of(a, va, bytes) == 0;
}

bool rp_allocation_nearest(uint64_t va, uint64_t bytes, struct rp_allocation *ret)
{
    const struct rp_allocation *best = NULL;
    pthread_mutex_lock(&all.lock);
    const size_t at = behind(va);
    size_t low = at, high = at;
    while (low && !is_candidate(&all.at[low - 1], va, bytes))
        low--;
    while (high < all.count && !is_candidate(&all.at[high], va, bytes))
        high++;
    if (low)
        best = &all.at[low - 1];
    if (high < all.count &&
        (!best || distance_of(&all.at[high], va, bytes) < distance_of(best, va, bytes)))
        best = &all.at[high];
    if (best)
        *ret = *best;
    pthread_mutex_unlock(&all.lock);
    return best;
}

bool rp_allocation_is_padding(uint64_t va)
{
    enum { PAGE = 4096 };
    pthread_mutex_lock(&all.lock);
    const size_t at = behind(va);
    const struct rp_allocation *a = at ? &all.at[at - 1] : NULL;
    const uint64_t end =
        a ? (a->begin + a->bytes + RP_ALLOCATION_PADDING + PAGE - 1) / PAGE * PAGE : 0;
    const bool padding = a && va >= a->begin + a->bytes && va < end;
    pthread_mutex_unlock(&all.lock);
    return padding;
}

bool rp_allocation_near(uint64_t va, uint64_t bytes, struct rp_allocation *ret)
{
    return rp_allocation_nearest(va, bytes, ret) &&
           distance_of(ret, va, bytes) <= RP_ALLOCATION_PADDING;
}
