#include "hand.h"

#include <stdlib.h>

#include "slot.h"

struct rp_hand *rp_hand_new(struct rp_dispatch *d)
{
    struct rp_hand *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->dispatch = d;
    rp_mem_init(&h->mem, d->host);
    return h;
}

void rp_hand_free(struct rp_hand *h)
{
    if (!h)
        return;
    for (unsigned i = 0; i < RP_CODE_WAYS; i++)
        rp_code_page_put(h->code[i]);
    rp_slot_give(h->spare);
    free(h);
}
