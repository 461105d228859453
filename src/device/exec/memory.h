/**
 * @file memory.h
 * @brief GPU addresses to host pointers, with a small cache of linear ranges in front of the host.
 */
#ifndef RP_DEVICE_EXEC_MEMORY_H
#define RP_DEVICE_EXEC_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "exec.h"

/* Direct-mapped by address bits: a kernel's arrays are usually more than 1 MiB apart. */
enum { RP_MEM_ENTRIES = 16, RP_MEM_SHIFT = 20 };

/** span 0 = empty. host pointer = va + delta. */
struct rp_mem_range {
    uint64_t begin;
    uint64_t span_bytes;
    uint64_t delta;
};

struct rp_mem {
    const struct rp_exec_host *host;
    uint64_t generation;
    struct rp_mem_range side[2][RP_MEM_ENTRIES]; /**< [0] reads, [1] writes */
};

void rp_mem_init(struct rp_mem *m, const struct rp_exec_host *host);

/** Drops cached ranges when the host's mapping has changed. Called between slices. */
void rp_mem_refresh(struct rp_mem *m);

/** Asks the host. NULL = not mapped. */
void *rp_mem_at_slow(struct rp_mem *m, uint64_t va, uint64_t bytes, unsigned write);

/** Host pointer to memory that cannot vanish, for what is not guarded (code). Not cached. */
static inline void *rp_mem_owned_at(const struct rp_mem *m, uint64_t va, uint64_t bytes)
{
    return m->host->translate(m->host->ctx, va, bytes, 0);
}

static inline bool rp_mem_borrows(const struct rp_mem *m)
{
    return m->host->borrows && __atomic_load_n(m->host->borrows, __ATOMIC_RELAXED);
}

/** Host pointer to @p bytes of GPU memory, or NULL. */
static inline void *rp_mem_at(struct rp_mem *m, uint64_t va, uint64_t bytes, unsigned write)
{
    const struct rp_mem_range *r = &m->side[write][(va >> RP_MEM_SHIFT) % RP_MEM_ENTRIES];
    uint64_t offset = va - r->begin;
    if (offset < r->span_bytes && r->span_bytes - offset >= bytes)
        return (void *)(uintptr_t)(va + r->delta);
    return rp_mem_at_slow(m, va, bytes, write);
}

#endif
