/**
 * @file large_pages.h
 * @brief Large host pages for those parts of the store that are used densely.
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
#ifndef RP_DEVICE_KFD_LARGE_PAGES_H
#define RP_DEVICE_KFD_LARGE_PAGES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RP_LARGE_PAGE = 2 << 20, RP_LARGE_PAGE_LOCKS = 8 };

struct rp_large_pages {
    uint8_t *window; /**< on a large page's boundary */
    size_t count;    /**< chunks */
    uint8_t *state;  /**< of each; NULL = switched off */
    uint32_t *cost;  /**< of each GiB: what noticing has cost more than it brought */
    pthread_mutex_t making[RP_LARGE_PAGE_LOCKS]; /**< by chunk: who needs it waits for it */
    unsigned failures;
    uint64_t taken_bytes; /**< of the store */
    uint64_t ample_bytes; /**< so many may be taken and really used */
};

/** @p bytes is a multiple of RP_LARGE_PAGE. Without memory: switched off. */
void rp_large_pages_open(struct rp_large_pages *pages, uint8_t *window, uint64_t bytes);

/** So much of the store was given out. */
void rp_large_pages_expect(struct rp_large_pages *pages, uint64_t bytes);

/** The range was given back: its pages are gone. */
void rp_large_pages_forget(struct rp_large_pages *pages, uint64_t offset, uint64_t bytes);

/**
 * Somebody is about to use @p offset, which is in a mapping of [*begin, *end) of the store. Cuts
 * these to what need not be noticed: uses in there are as good as this one.
 * @return whether to call rp_large_pages_make(offset)
 */
bool rp_large_pages_arrive(struct rp_large_pages *pages, uint64_t offset, uint64_t *begin,
                           uint64_t *end);

/** Makes the chunk a large page, if the host has one, or waits until another thread has. Keeps what
 *  is in it. */
void rp_large_pages_make(struct rp_large_pages *pages, uint64_t offset);

void rp_large_pages_close(struct rp_large_pages *pages);

#endif
