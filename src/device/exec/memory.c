#include "memory.h"

#include <string.h>

void rp_mem_init(struct rp_mem *m, const struct rp_exec_host *host)
{
    memset(m, 0, sizeof *m);
    m->host = host;
    m->generation = host->generation ? __atomic_load_n(host->generation, __ATOMIC_ACQUIRE) : 0;
}

void rp_mem_forget(struct rp_mem *m, uint64_t generation)
{
    memset(m->side, 0, sizeof m->side);
    m->generation = generation;
}

static enum rp_memory_location place_of(const struct rp_mem *m, uint64_t va)
{
    return m->host->place ? m->host->place(m->host->ctx, va) : RP_PLACE_LOCAL;
}

void *rp_mem_find_slow(struct rp_mem *m, uint64_t va, uint64_t bytes, unsigned write)
{
    uint64_t begin = 0, end = 0;
    int64_t delta = 0;
    if (va + bytes < va)
        return NULL;
    if (m->host->range && m->host->range(m->host->ctx, va, (int)write, &begin, &end, &delta) &&
        begin <= va && va < end) {
        m->side[write][rp_mem_index(va)] = (struct rp_mem_range){.begin = begin,
                                                                 .span_bytes = end - begin,
                                                                 .delta = (uint64_t)delta,
                                                                 .place = place_of(m, va)};
        if (end - va >= bytes)
            return (void *)(uintptr_t)(va + (uint64_t)delta);
    }
    return m->host->translate(m->host->ctx, va, bytes, (int)write);
}

/* What a lane's scattered dword costs on a link: the L2 asks for 64 bytes there (TCC_EA0_RDREQ,
 * which counts 32-byte requests separately, of AMD's MI300 performance counters). */
enum { REQUEST_BYTES = 64 };

static uint64_t link_bytes(uint64_t span_bytes, uint64_t lanes)
{
    uint64_t most = REQUEST_BYTES * lanes;
    return span_bytes < most ? span_bytes : most;
}

void *rp_mem_lanes_at_slow(struct rp_mem *m, uint64_t va, uint64_t bytes, unsigned write,
                           uint64_t exec)
{
    void *at = rp_mem_find(m, va, bytes, write);
    const struct rp_mem_range *r = rp_mem_entry(m, va, write);
    if (!at || !m->counts)
        return at;
    enum rp_memory_location place = va - r->begin < r->span_bytes ? r->place : place_of(m, va);
    if (place != RP_PLACE_LOCAL)
        m->counts->link_bytes[place][write] +=
            link_bytes(bytes, (uint64_t)__builtin_popcountll(exec));
    return at;
}

void rp_mem_count_lanes(struct rp_mem *m, const uint64_t *va, uint64_t exec, unsigned bytes,
                        unsigned write)
{
    struct {
        uint64_t low, high, lanes;
    } spans[RP_PLACES] = {0};
    for (uint64_t left = m->counts ? exec : 0; left; left &= left - 1) {
        uint64_t at = va[__builtin_ctzll(left)];
        rp_mem_find(m, at, 1, write); /* so that its range is cached, if it is in any */
        const struct rp_mem_range *r = rp_mem_entry(m, at, write);
        enum rp_memory_location place = at - r->begin < r->span_bytes ? r->place : place_of(m, at);
        if (!spans[place].lanes || at < spans[place].low)
            spans[place].low = at;
        if (at > spans[place].high)
            spans[place].high = at;
        spans[place].lanes++;
    }
    for (unsigned place = 0; place < RP_PLACES; place++)
        if (place != RP_PLACE_LOCAL && spans[place].lanes)
            m->counts->link_bytes[place][write] +=
                link_bytes(spans[place].high - spans[place].low + bytes, spans[place].lanes);
}
