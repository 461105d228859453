/**
 * @file sqlite_pages.h
 * @brief Which pages the program itself may access: what the kernel says in /proc/self/maps.
 *
 * A copy, read when an address is not in it or something else was mapped since. It may be out of
 * date (free() unmaps without notice); whoever uses it must survive that (exec/guard.h).
 */
#ifndef RP_DEVICE_KFD_PAGES_H
#define RP_DEVICE_KFD_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_page_span {
    uint64_t begin, end;
    bool writable;
};

struct rp_pages {
    struct rp_page_span *spans; /**< readable ones, sorted */
    size_t count, capacity;
    uint64_t generation; /**< of the device's page tables when it was read */
};

/**
 * The span around @p va in which every byte is readable (@p write: and writable) for the program.
 * The device's own files do not count: a GPU reaches them through its page table only.
 */
bool rp_pages_find(struct rp_pages *pages, uint64_t va, bool write, uint64_t generation,
                   uint64_t *ret_begin, uint64_t *ret_end);

void rp_pages_release(struct rp_pages *pages);

#endif
