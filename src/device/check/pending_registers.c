/*
 * Registers that loads have not filled yet: which are read or written before an s_waitcnt says that
 * they are there. The device executes loads at once, so that its results do not show it.
 *
 * Loads of memory come in order, and so do those of LDS; scalar and flat ones do not, so that only
 * a wait for all of them counts (access_history.c has both rings, this file what they wait for).
 */
#include <string.h>

#include "device/check/check.h"
#include "device/exec/executor.h"

static bool is_register(const struct rp_opnd *o)
{
    return o->kind == RP_OPND_SGPR || o->kind == RP_OPND_VGPR || o->kind == RP_OPND_AGPR;
}

/* Returns what the instruction fills later, or NULL. MUBUF returns in the data registers. */
static const struct rp_opnd *filled_by(const struct rp_insn *in)
{
    const uint8_t access = rp_op_rows[in->op].access;
    const bool atomic = access == RP_ACCESS_ATOMIC || access == RP_ACCESS_CMPSWAP;
    const bool buffer = in->fmt == RP_FMT_MUBUF || in->fmt == RP_FMT_MTBUF;
    const struct rp_opnd *o =
        atomic && buffer ? (in->flags & RP_IF_SC0 ? &in->src[1] : NULL) : &in->dst;
    return o && is_register(o) && !(in->flags & RP_IF_LDS) ? o : NULL;
}

static struct rp_pending pending_of(const struct rp_insn *in, uint32_t site)
{
    const struct rp_opnd *o = filled_by(in);
    if (!o)
        return (struct rp_pending){0};
    return (struct rp_pending){
        .site = site, .kind = o->kind, .index = o->index, .dwords = o->dwords, .fmt = in->fmt};
}

void rp_pending_issued(struct rp_order_wave *w, const struct rp_insn *in, uint32_t number,
                       uint32_t site)
{
    const unsigned memory = (w->memory_first + w->memory_count - 1u) % 64;
    const unsigned lds = (w->lds_first + w->lds_count - 1u) % 16;
    if (w->memory_count && w->memory[memory] == number)
        w->memory_fills[memory] = pending_of(in, site);
    if (w->lds_count && w->lds[lds] == number)
        w->lds_fills[lds] = pending_of(in, site);
}

/* ---- use ---- */

static bool overlaps(const struct rp_pending *p, const struct rp_opnd *o)
{
    return p->kind == o->kind && o->index < p->index + p->dwords && p->index < o->index + o->dwords;
}

/* Loads of one kind that come in order may follow each other into one register. */
static bool comes_behind(const struct rp_pending *p, const struct rp_insn *in)
{
    const bool memory = in->cost_class == RP_COST_VMEM;
    return p->fmt == RP_FMT_DS ? in->fmt == RP_FMT_DS : p->fmt != RP_FMT_SMEM && memory;
}

static bool is_used(const struct rp_pending *p, const struct rp_insn *in, bool *ret_written)
{
    *ret_written = false;
    if (p->kind == RP_OPND_NONE)
        return false;
    for (unsigned i = 0; i < 4; i++)
        if (overlaps(p, &in->src[i]))
            return true;
    *ret_written = true;
    return (overlaps(p, &in->dst) || overlaps(p, &in->sdst)) && !comes_behind(p, in);
}

const struct rp_pending *rp_pending_used(const struct rp_order_wave *w, const struct rp_insn *in,
                                         bool *ret_written)
{
    for (unsigned i = 0; i < w->memory_count; i++) {
        const struct rp_pending *p = &w->memory_fills[(w->memory_first + i) % 64];
        if (is_used(p, in, ret_written))
            return p;
    }
    for (unsigned i = 0; i < w->lds_count; i++) {
        const struct rp_pending *p = &w->lds_fills[(w->lds_first + i) % 16];
        if (is_used(p, in, ret_written))
            return p;
    }
    return NULL;
}
