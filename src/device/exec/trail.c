#include "trail.h"

#include <stdlib.h>

#include "../timing/alike.h"
#include "../timing/observe.h"
#include "dispatch.h"

enum { SLOT_BYTES = 4 };

void rp_trail_open(struct rp_trail *t)
{
    if (!t->alike)
        t->alike = calloc(1, sizeof *t->alike); /* without it, it takes longer */
}

void rp_trail_release(struct rp_trail *t)
{
    free(t->alike);
}

void rp_trail_flush(struct rp_trail *t, struct rp_wave *w)
{
    const uint64_t entry_va = w->group->dispatch->kernel.entry_va;
    const int64_t distance = (int64_t)(t->page->base_va - entry_va) / SLOT_BYTES;
    for (const uint32_t *run = t->run; run < t->next; run++)
        rp_rec_observe_run(w->record, t->page->insn, *run & 0xffff, *run >> 16, distance);
    t->next = t->run;
}

int rp_trail_access(struct rp_wave *w, const struct rp_insn *in)
{
    rp_trail_flush(w->trail, w);
    rp_rec_observe_access(w->record, w, in);
    return in->fn(w, in);
}
