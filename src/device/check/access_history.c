/*
 * Which accesses have happened before which: what each wave knows of the others.
 *
 * Waves of one workgroup share a compute unit, so that memory accesses are in order for them as
 * soon as they are issued; LDS accesses must be complete (s_waitcnt lgkmcnt), because the LDS
 * serves the requests of different waves in any order. Between workgroups a write must have been
 * written back (buffer_wbl2 sc1; on gfx90a it is enough that it is complete) before an atomic tells
 * of it, and a plain load sees it only behind an invalidation (buffer_inv sc1, buffer_wbinvl1_vol).
 */
#include <stdlib.h>
#include <string.h>

#include "device/check/check.h"
#include "device/exec/executor.h"

/* ---- what is known of the workgroups of a dispatch ---- */

/* Immutable trees that share what they have in common, because thousands of workgroups may tell
 * each other at one place. Leaves are single workgroups. */

enum { FAN_LOG2 = 4, FAN = 1 << FAN_LOG2 };

struct rp_known_groups {
    uint32_t refs;
    uint32_t level; /**< 0: a leaf */
    union {
        struct rp_known known;
        struct rp_known_groups *child[FAN];
    };
};

static struct rp_known_groups *keep(struct rp_known_groups *t)
{
    if (t)
        t->refs++;
    return t;
}

void rp_known_drop(struct rp_known_groups *t)
{
    if (!t || --t->refs)
        return;
    for (unsigned i = 0; t->level && i < FAN; i++)
        rp_known_drop(t->child[i]);
    free(t);
}

static struct rp_known_groups *node_new(uint32_t level)
{
    struct rp_known_groups *t = calloc(1, sizeof *t);
    if (t) {
        t->refs = 1;
        t->level = level;
    }
    return t;
}

static bool raise(uint32_t to[RP_CHECK_WAVES], const uint32_t from[RP_CHECK_WAVES])
{
    uint32_t changed = 0;
    for (unsigned i = 0; i < RP_CHECK_WAVES; i++) {
        const uint32_t most = from[i] > to[i] ? from[i] : to[i];
        changed |= most ^ to[i];
        to[i] = most;
    }
    return changed;
}

static bool known_raise(struct rp_known *to, const struct rp_known *from)
{
    bool changed = raise(to->issued, from->issued);
    changed |= raise(to->lds, from->lds);
    changed |= raise(to->done, from->done);
    changed |= raise(to->released, from->released);
    return changed;
}

/* Returns the tree of both, with a reference; takes none. NULL also where memory has ended: then
 * less is known, and there may be a finding too many, of which the end of memory is the last. */
static struct rp_known_groups *joined(struct rp_known_groups *a, struct rp_known_groups *b)
{
    if (!b || a == b)
        return keep(a);
    if (!a)
        return keep(b);
    struct rp_known_groups *t = node_new(a->level);
    if (!t)
        return keep(a);
    if (!a->level) {
        t->known = a->known;
        known_raise(&t->known, &b->known);
        if (!memcmp(&t->known, &a->known, sizeof t->known)) {
            free(t);
            return keep(a);
        }
        return t;
    }
    bool as_a = true, as_b = true;
    for (unsigned i = 0; i < FAN; i++) {
        t->child[i] = joined(a->child[i], b->child[i]);
        as_a &= t->child[i] == a->child[i];
        as_b &= t->child[i] == b->child[i];
    }
    if (!as_a && !as_b)
        return t;
    rp_known_drop(t);
    return keep(as_a ? a : b);
}

static void join_into(struct rp_known_groups **to, struct rp_known_groups *from)
{
    struct rp_known_groups *both = joined(*to, from);
    rp_known_drop(*to);
    *to = both;
}

static void take(struct rp_known_groups **to, struct rp_known_groups *from)
{
    keep(from);
    rp_known_drop(*to);
    *to = from;
}

/* Returns the tree with more known of one workgroup, with a reference. */
static struct rp_known_groups *with(struct rp_known_groups *t, uint32_t level, uint32_t index,
                                    const struct rp_known *known)
{
    struct rp_known_groups *fresh = node_new(level);
    if (!fresh)
        return keep(t);
    if (!level) {
        fresh->known = t ? t->known : (struct rp_known){0};
        known_raise(&fresh->known, known);
        return fresh;
    }
    const unsigned at = index >> (FAN_LOG2 * (level - 1)) & (FAN - 1);
    for (unsigned i = 0; i < FAN; i++)
        fresh->child[i] = i == at ? with(t ? t->child[i] : NULL, level - 1, index, known)
                                  : keep(t ? t->child[i] : NULL);
    return fresh;
}

const struct rp_known *rp_known_find(const struct rp_known_groups *t, uint32_t index)
{
    while (t && t->level)
        t = t->child[index >> (FAN_LOG2 * (t->level - 1)) & (FAN - 1)];
    return t ? &t->known : NULL;
}

/* ---- waves and their workgroup ---- */

static unsigned self(const struct rp_order_group *g, const struct rp_order_wave *w)
{
    return (unsigned)(w - g->wave);
}

void rp_order_group_begin(struct rp_order_group *g, uint32_t index, uint64_t group_count,
                          uint32_t wave_count)
{
    memset(g, 0, sizeof *g);
    while (group_count > 1ull << FAN_LOG2 * g->levels)
        g->levels++;
    g->index = index;
    g->wave_count = wave_count;
}

void rp_order_group_end(struct rp_order_group *g)
{
    for (unsigned i = 0; i < RP_CHECK_WAVES; i++) {
        rp_known_drop(g->wave[i].met);
        rp_known_drop(g->wave[i].fresh);
    }
    for (unsigned i = 0; i < 2; i++) {
        rp_known_drop(g->barrier[i].met);
        rp_known_drop(g->barrier[i].fresh);
    }
}

void rp_order_catch_up(struct rp_order_group *g, struct rp_order_wave *w)
{
    if (!w->at_barrier)
        return;
    const struct rp_order_barrier *b = &g->barrier[w->phase & 1];
    w->at_barrier = false;
    w->version++;
    known_raise(&w->known, &b->known);
    if (w->met != b->met) {
        join_into(&w->met, b->met);
        w->met_from = NULL;
    }
    if (w->fresh != b->fresh)
        join_into(&w->fresh, b->fresh);
}

void rp_order_barrier_reached(struct rp_order_group *g, struct rp_order_wave *w, bool ended)
{
    rp_order_catch_up(g, w);
    const unsigned me = self(g, w);
    w->phase++;
    struct rp_order_barrier *b = &g->barrier[w->phase & 1];
    if (g->phase < w->phase) { /* It is the first one at this barrier. */
        g->phase = w->phase;
        b->known = g->barrier[~w->phase & 1].known;
        take(&b->met, g->barrier[~w->phase & 1].met);
        take(&b->fresh, g->barrier[~w->phase & 1].fresh);
    }
    w->known.issued[me] = w->number;
    if (ended)
        w->known.lds[me] = w->known.done[me] = w->number;
    known_raise(&b->known, &w->known);
    join_into(&b->met, w->met);
    join_into(&b->fresh, w->fresh);
    w->at_barrier = true;
}

/* ---- issue and completion ---- */

static bool is_gfx90a(void)
{
    return rp_isa_target_get() == RP_ISA_GFX90A;
}

static void memory_done(struct rp_order_group *g, struct rp_order_wave *w, uint32_t number)
{
    const unsigned me = self(g, w);
    w->version++;
    w->known.done[me] = number;
    if (!w->memory_count) {
        raise(w->known.done, w->known.issued);
        w->known.done[me] = w->number;
    }
    if (is_gfx90a()) /* All compute units of an agent share the far cache. */
        raise(w->known.released, w->known.done);
    if (w->write_back && w->write_back <= number) {
        raise(w->known.released, w->written_back);
        w->write_back = 0;
    }
}

static void lds_done(struct rp_order_group *g, struct rp_order_wave *w, uint32_t number)
{
    w->version++;
    w->known.lds[self(g, w)] = number;
}

void rp_order_wait(struct rp_order_group *g, struct rp_order_wave *w, unsigned memory, unsigned lds)
{
    uint32_t number = 0;
    while (w->memory_count > memory) {
        number = w->memory[w->memory_first++ % 64];
        w->memory_count--;
    }
    if (number)
        memory_done(g, w, number);
    number = 0;
    if (w->scalar && lds)
        return;
    while (w->lds_count > lds) {
        number = w->lds[w->lds_first++ % 16];
        w->lds_count--;
    }
    if (!lds)
        w->scalar = false;
    if (number)
        lds_done(g, w, number);
}

static bool counts_memory(const struct rp_insn *in)
{
    return in->cost_class == RP_COST_VMEM && in->op != RP_OP_buffer_inv;
}

/* The counter goes to 15: before another one is issued one has ended. Among scalar ones nobody
 * knows which; the oldest gives its place, and counts as complete only with a wait for all. */
static void lds_counter_full(struct rp_order_group *g, struct rp_order_wave *w)
{
    if (w->lds_count < 15)
        return;
    rp_order_wait(g, w, 64, 14);
    if (w->lds_count == 15) {
        w->lds_first++;
        w->lds_count--;
    }
}

uint32_t rp_order_issue(struct rp_order_group *g, struct rp_order_wave *w, const struct rp_insn *in)
{
    const bool flat = in->fmt == RP_FMT_FLAT && in->seg == RP_SEG_FLAT;
    w->number++;
    if (counts_memory(in)) {
        if (w->memory_count == 63)
            rp_order_wait(g, w, 62, 16);
        w->memory[(w->memory_first + w->memory_count++) % 64] = w->number;
    }
    if (in->fmt == RP_FMT_DS || in->fmt == RP_FMT_SMEM || flat) {
        lds_counter_full(g, w);
        w->lds[(w->lds_first + w->lds_count++) % 16] = w->number;
        w->scalar |= in->fmt != RP_FMT_DS;
    }
    w->known.issued[self(g, w)] = w->number;
    const uint8_t access = rp_op_rows[in->op].access;
    w->version += access == RP_ACCESS_LOAD || access == RP_ACCESS_STORE;
    return w->number;
}

void rp_order_write_back(struct rp_order_group *g, struct rp_order_wave *w)
{
    memcpy(w->written_back, w->known.issued, sizeof w->written_back);
    w->write_back = w->number;
    /* Compilers leave out the wait behind a write-back if nothing else is to be waited for. */
    if (w->memory_count == 1)
        memory_done(g, w, w->number);
}

void rp_order_invalidate(struct rp_order_wave *w)
{
    if (w->fresh != w->met)
        join_into(&w->fresh, w->met);
}

/* ---- synchronisation ---- */

void rp_order_publish(struct rp_order_group *g, struct rp_order_wave *w, struct rp_sync *sync)
{
    if (sync->told && sync->last_group == g->index && sync->last_wave == self(g, w) &&
        sync->last_version == w->version)
        return;
    sync->last_group = g->index;
    sync->last_wave = self(g, w);
    sync->last_version = w->version;
    if (w->met && w->met_from != sync)
        join_into(&sync->told, w->met);
    struct rp_known_groups *told = with(sync->told, g->levels, g->index, &w->known);
    rp_known_drop(sync->told);
    sync->told = told;
}

void rp_order_acquire(struct rp_order_group *g, struct rp_order_wave *w, struct rp_sync *sync)
{
    if (!sync->told || sync->told == w->met)
        return;
    if (!w->met || w->met_from == sync) {
        take(&w->met, sync->told);
        w->met_from = sync;
    } else {
        join_into(&w->met, sync->told);
        w->met_from = NULL;
    }
    const struct rp_known *own = rp_known_find(w->met, g->index);
    if (own && known_raise(&w->known, own))
        w->version++;
}

void rp_order_publish_lds(const struct rp_order_group *g, const struct rp_order_wave *w,
                          struct rp_known *place)
{
    known_raise(place, &w->known);
    /* Accesses of one wave are served in order. */
    place->lds[w - g->wave] = w->number;
}

void rp_order_acquire_lds(struct rp_order_wave *w, const struct rp_known *place)
{
    if (known_raise(&w->known, place))
        w->version++;
}

void rp_order_acquire_from(struct rp_order_wave *w, unsigned wave, uint32_t number)
{
    struct rp_known *k = &w->known;
    if (number > k->issued[wave])
        k->issued[wave] = number;
    if (number > k->lds[wave])
        k->lds[wave] = number;
    w->version++;
}
