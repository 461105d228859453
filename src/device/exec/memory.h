/**
 * @file memory_map.h
 * @brief GPU addresses to host pointers, with a small cache of linear ranges in front of the host.
 */
#ifndef RP_DEVICE_EXEC_MEMORY_H
#define RP_DEVICE_EXEC_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "../timing/copy.h"
#include "exec.h"

/* Direct-mapped by the address's MiB, scattered: a kernel's arrays are usually more than 1 MiB
 * apart, and often a power of two. */
enum { RP_MEM_ENTRIES_LOG2 = 6, RP_MEM_ENTRIES = 1 << RP_MEM_ENTRIES_LOG2, RP_MEM_SHIFT = 20 };
enum { RP_MEM_SCATTER = 0x1e3779b1 };

/** span 0 = empty. host pointer = va + delta. */
struct rp_mem_range {
    uint64_t begin;
    uint64_t span_bytes;
    uint64_t delta;
    enum rp_memory_location place;
};

struct rp_mem {
    const struct rp_exec_host *host;
    uint64_t generation;
    struct rp_counts *counts; /**< where bytes that cross a link are counted; NULL: nowhere */
    struct rp_mem_range side[2][RP_MEM_ENTRIES]; /**< [0] reads, [1] writes */
};

void rp_mem_init(struct rp_mem *m, const struct rp_exec_host *host);

/** Drops all cached ranges: those of another generation. */
void rp_mem_forget(struct rp_mem *m, uint64_t generation);

/** Drops cached ranges when the host's mapping has changed. Called between slices. */
static inline void rp_mem_refresh(struct rp_mem *m)
{
    if (!m->host->generation)
        return;
    const uint64_t now = __atomic_load_n(m->host->generation, __ATOMIC_ACQUIRE);
    if (__builtin_expect(now != m->generation, 0))
        rp_mem_forget(m, now);
}

/** Which entry an address's range is in. Translated code computes it, too (jit/mem.c). */
static inline uint32_t rp_mem_index(uint64_t va)
{
    return (uint32_t)(va >> RP_MEM_SHIFT) * (uint32_t)RP_MEM_SCATTER >> (32 - RP_MEM_ENTRIES_LOG2);
}

/** The cached range for an address; of another address, if it is not cached. */
static inline const struct rp_mem_range *rp_mem_entry(const struct rp_mem *m, uint64_t va,
                                                      unsigned write)
{
    return &m->side[write][rp_mem_index(va)];
}

/** Asks the host. NULL = not mapped. */
void *rp_mem_find_slow(struct rp_mem *m, uint64_t va, uint64_t bytes, unsigned write);

/** Host pointer to @p bytes of GPU memory, or NULL. Counts nothing: caches, scalar loads. */
static inline void *rp_mem_find(struct rp_mem *m, uint64_t va, uint64_t bytes, unsigned write)
{
    const struct rp_mem_range *r = rp_mem_entry(m, va, write);
    uint64_t offset = va - r->begin;
    if (offset < r->span_bytes && r->span_bytes - offset >= bytes)
        return (void *)(uintptr_t)(va + r->delta);
    return rp_mem_find_slow(m, va, bytes, write);
}

/** The rest of rp_mem_lanes_at when it is not simply cached local memory. */
void *rp_mem_lanes_at_slow(struct rp_mem *m, uint64_t va, uint64_t bytes, unsigned write,
                           uint64_t exec);

/**
 * The same for an access that @p exec lanes make to parts of the range. What of it is in another
 * GPU's or the host's memory is counted as bytes over that link: the range, but at most a request
 * for each lane.
 */
static inline void *rp_mem_lanes_at(struct rp_mem *m, uint64_t va, uint64_t bytes, unsigned write,
                                    uint64_t exec)
{
    const struct rp_mem_range *r = rp_mem_entry(m, va, write);
    uint64_t offset = va - r->begin;
    if (__builtin_expect(offset < r->span_bytes && r->span_bytes - offset >= bytes &&
                             r->place == RP_PLACE_LOCAL,
                         1))
        return (void *)(uintptr_t)(va + r->delta);
    return rp_mem_lanes_at_slow(m, va, bytes, write, exec);
}

/**
 * Counts what rp_mem_lanes_at would have for lanes at @p va (RP_LANES of them), had their memory
 * been in one piece: how it is mapped must not show in modelled time.
 */
void rp_mem_count_lanes(struct rp_mem *m, const uint64_t *va, uint64_t exec, unsigned bytes,
                        unsigned write);

/** The same for one lane. */
static inline void *rp_mem_at(struct rp_mem *m, uint64_t va, uint64_t bytes, unsigned write)
{
    return rp_mem_lanes_at(m, va, bytes, write, 1);
}

/** Host pointer to memory that cannot vanish, for what is not guarded (code). Not cached. */
static inline void *rp_mem_owned_at(const struct rp_mem *m, uint64_t va, uint64_t bytes)
{
    return m->host->translate(m->host->ctx, va, bytes, 0);
}

static inline bool rp_mem_borrows(const struct rp_mem *m)
{
    return m->host->borrows && __atomic_load_n(m->host->borrows, __ATOMIC_RELAXED);
}

#endif
