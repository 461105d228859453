/*
 * Accesses that cross from one mapping into another which lies elsewhere in host memory, as two
 * neighbouring pieces of a reserved address range do. Rare: the ordinary ways try first.
 */
#include "mem_access.h"

enum { WIDEST_BYTES = 64 };

bool rp_mem_read_split(struct rp_wave *w, uint64_t va, void *to, unsigned bytes)
{
    uint8_t *out = to;
    for (unsigned i = 0; i < bytes; i++) {
        const uint8_t *p = rp_mem_find(rp_mem_of(w), va + i, 1, 0);
        if (!p)
            return false;
        out[i] = *p;
    }
    return true;
}

bool rp_mem_write_split(struct rp_wave *w, uint64_t va, const void *from, unsigned bytes)
{
    const uint8_t *in = from;
    uint8_t *place[WIDEST_BYTES]; /* all are looked up before any is written */
    for (unsigned i = 0; i < bytes; i++) {
        place[i] = rp_mem_find(rp_mem_of(w), va + i, 1, 1);
        if (!place[i])
            return false;
    }
    for (unsigned i = 0; i < bytes; i++)
        *place[i] = in[i];
    return true;
}
