/*
 * Which memory the program has allocated on the device, and what it has not written since.
 *
 * While bounds are checked an allocation gets a page more than was asked for, so that what is just
 * behind it is nobody else's. While reads of unwritten memory are found it begins with words that
 * follow from their addresses; whoever reads such a word reads what nobody has written, be it a
 * kernel, a copy or the host.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/check/check.h"

enum { MOST_FILLED = 64 << 20 }; /* Larger ones would take the host's memory. */

/* Sorted by begin. The program allocates from any thread. */
static struct {
    pthread_mutex_t lock;
    struct rp_allocation *at;
    size_t count, room;
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

uint64_t rp_allocation_padding(void)
{
    return rp_check_what() & RP_CHECK_BOUNDS ? RP_ALLOCATION_PADDING : 0;
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

void rp_allocation_add(uint64_t begin, uint64_t bytes, bool filled)
{
    pthread_mutex_lock(&all.lock);
    if (make_room()) {
        const size_t at = behind(begin);
        memmove(all.at + at + 1, all.at + at, (all.count - at) * sizeof *all.at);
        all.at[at] = (struct rp_allocation){.begin = begin, .bytes = bytes, .filled = filled};
        all.count++;
    }
    pthread_mutex_unlock(&all.lock);
}

void rp_allocation_remove(uint64_t begin)
{
    pthread_mutex_lock(&all.lock);
    const size_t at = behind(begin);
    if (at && all.at[at - 1].begin == begin) {
        memmove(all.at + at - 1, all.at + at, (all.count - at) * sizeof *all.at);
        all.count--;
    }
    pthread_mutex_unlock(&all.lock);
}

static uint64_t distance_of(const struct rp_allocation *a, uint64_t va, uint64_t bytes)
{
    if (va < a->begin)
        return a->begin - va;
    return va + bytes > a->begin + a->bytes ? va + bytes - (a->begin + a->bytes) : 0;
}

bool rp_allocation_near(uint64_t va, uint64_t bytes, struct rp_allocation *ret)
{
    const struct rp_allocation *best = NULL;
    pthread_mutex_lock(&all.lock);
    const size_t at = behind(va);
    for (size_t i = at ? at - 1 : 0; i < all.count && i <= at; i++) {
        const struct rp_allocation *a = &all.at[i];
        if (distance_of(a, va, bytes) <= RP_ALLOCATION_PADDING &&
            (!best || distance_of(a, va, bytes) < distance_of(best, va, bytes)))
            best = a;
    }
    if (best)
        *ret = *best;
    pthread_mutex_unlock(&all.lock);
    return best;
}
