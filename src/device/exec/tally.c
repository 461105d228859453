#include "tally.h"

#include <stdlib.h>

#include "../isa/counted.h"
#include "dispatch.h"

static struct rp_tally **way_of(struct rp_hand *h, const struct rp_code_page *page)
{
    return &h->tally[page->base_va / RP_CODE_PAGE_BYTES % RP_CODE_WAYS];
}

struct rp_tally *rp_tally_of(struct rp_hand *h, struct rp_code_page *page)
{
    struct rp_tally **way = way_of(h, page), *t;

    if (*way && (*way)->page == page)
        return *way;
    for (t = h->tallies; t && t->page != page; t = t->next)
        ;
    if (!t) {
        t = calloc(1, sizeof *t);
        if (!t)
            return NULL;
        __atomic_add_fetch(&page->refs, 1, __ATOMIC_RELAXED);
        t->page = page;
        t->next = h->tallies;
        h->tallies = t;
    }
    return *way = t;
}

void rp_tally_count(const struct rp_hand *h, uint64_t *values)
{
    for (const struct rp_tally *t = h->tallies; t; t = t->next) {
        int64_t times = 0, lanes = 0;
        for (size_t i = 0; i < RP_CODE_PAGE_INSNS; i++) {
            const struct rp_insn *in = &t->page->insn[i];
            times += t->runs[i];
            lanes += t->lanes[i];
            /* Between the dwords of a long instruction nothing has been decoded. */
            if (times > 0 && __atomic_load_n(&in->fn, __ATOMIC_ACQUIRE))
                rp_insn_count(in, (uint64_t)times, (uint64_t)-lanes, values);
        }
    }
}

void rp_tally_release(struct rp_hand *h)
{
    while (h->tallies) {
        struct rp_tally *t = h->tallies;
        h->tallies = t->next;
        rp_code_page_put(t->page);
        free(t);
    }
}
