#include "disposition.h"

#include <sched.h>
#include <string.h>

enum { CELL_BITS = 8 };

static_assert(RP_DISPOSITION_CELLS <= 1 << CELL_BITS, "cells fit their part of the word");

static unsigned cell_of(uint32_t present)
{
    return present & ((1u << CELL_BITS) - 1);
}

static void read_cell(const struct rp_disposition *d, unsigned cell, struct sigaction *ret)
{
    uint64_t words[RP_DISPOSITION_WORDS];
    for (unsigned i = 0; i < RP_DISPOSITION_WORDS; i++)
        words[i] = __atomic_load_n(&d->words[cell][i], __ATOMIC_RELAXED);
    memcpy(ret, words, sizeof words);
}

static void write_cell(struct rp_disposition *d, unsigned cell, const struct sigaction *action)
{
    uint64_t words[RP_DISPOSITION_WORDS];
    memcpy(words, action, sizeof words);
    for (unsigned i = 0; i < RP_DISPOSITION_WORDS; i++)
        __atomic_store_n(&d->words[cell][i], words[i], __ATOMIC_RELAXED);
}

/** A cell that nobody else writes. The present one is never free, though cell 0 begins untaken. */
static unsigned take_cell(struct rp_disposition *d)
{
    for (;;) {
        for (unsigned cell = 1; cell < RP_DISPOSITION_CELLS; cell++) {
            uint32_t nobody = 0;
            if (__atomic_compare_exchange_n(&d->taken[cell], &nobody, 1, 0, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED))
                return cell;
        }
        sched_yield();
    }
}

void rp_disposition_get(const struct rp_disposition *d, struct sigaction *ret)
{
    uint32_t present = __atomic_load_n(&d->present, __ATOMIC_ACQUIRE), after;
    for (;; present = after) {
        read_cell(d, cell_of(present), ret);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        after = __atomic_load_n(&d->present, __ATOMIC_ACQUIRE);
        if (after == present) /* else the cell may have been given to another call meanwhile */
            return;
    }
}

void rp_disposition_set(struct rp_disposition *d, const struct sigaction *fresh,
                        struct sigaction *ret_old)
{
    struct sigaction old;
    unsigned cell = take_cell(d);
    write_cell(d, cell, fresh);
    uint32_t before = __atomic_load_n(&d->present, __ATOMIC_RELAXED), after;
    do {
        after = ((before >> CELL_BITS) + 1) << CELL_BITS | cell;
    } while (!__atomic_compare_exchange_n(&d->present, &before, after, 0, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    read_cell(d, cell_of(before), &old); /* ours alone to give back from here on */
    __atomic_store_n(&d->taken[cell_of(before)], 0, __ATOMIC_RELEASE);
    *ret_old = old;
}
