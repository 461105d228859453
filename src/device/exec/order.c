#include "order.h"

#include <string.h>

#include "../isa/mem_buffer.h"
#include "../isa/mem_lanes.h"
#include "../isa/ops.h"
#include "guard.h"
#include "sched.h"

enum { PAGE_SHIFT = 12, PAGE_BITS = RP_LOG_PAGE_WORDS * 64 };

void rp_log_clear(struct rp_atomic_log *log)
{
    log->count = log->applied = 0;
    log->low = UINT64_MAX;
    log->high = 0;
    memset(log->pages, 0, sizeof log->pages);
}

void rp_log_apply(struct rp_atomic_log *log, struct rp_mem *mem)
{
    bool changed;
    while (log->applied < log->count) {
        /* Before the access: one that traps is left out (rp_log_retire). */
        const struct rp_log_entry *e = &log->entry[log->applied++];
        void *p = rp_mem_find(mem, e->va, e->bytes, 1); /* counted when it was noted */
        if (p)
            e->fn(p, e->data, e->data, &changed);
    }
    rp_log_clear(log);
}

struct application {
    struct rp_atomic_log *log;
    struct rp_mem *mem;
};

static void apply_body(void *ctx)
{
    const struct application *a = ctx;
    rp_log_apply(a->log, a->mem);
}

void rp_log_retire(struct rp_atomic_log *log, struct rp_mem *mem)
{
    struct application application = {log, mem};
    struct rp_trap trap;
    if (!rp_mem_borrows(mem))
        rp_log_apply(log, mem);
    else
        while (!rp_guarded(apply_body, &application, &trap)) {
        }
}

static bool in_turn(const struct rp_hand *h)
{
    return __atomic_load_n(&h->dispatch->turn, __ATOMIC_ACQUIRE) == h->order;
}

static unsigned page_bit(uint64_t page)
{
    return (unsigned)(page * 0x9e3779b97f4a7c15u >> 54) % PAGE_BITS;
}

void rp_order_note(struct rp_wave *w, rp_atomic_fn *fn, uint64_t va, uint32_t bytes, uint64_t data)
{
    struct rp_atomic_log *log = w->group->hand->log;
    log->entry[log->count++] =
        (struct rp_log_entry){.fn = fn, .va = va, .bytes = bytes, .data = data};
    if (va < log->low)
        log->low = va;
    if (va + 8 > log->high)
        log->high = va + 8;
    unsigned bit = page_bit(va >> PAGE_SHIFT);
    log->pages[bit / 64] |= 1ull << bit % 64;
}

/* ---- gates --------------------------------------------------------------------------------- */

/* Ordered: the instruction is tried again when every earlier slice has retired. */
static int ordered_gate(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_hand *h = w->group->hand;
    if (!in_turn(h))
        return RP_STEP_TURN;
    if (h->log && h->log->count)
        rp_log_apply(h->log, &h->mem);
    h->ordered = true;
    int step = in->gated(w, in);
    return step == RP_STEP_NEXT ? RP_STEP_ORDERED : step;
}

/* An atomic without result. */
static int note_gate(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_hand *h = w->group->hand;
    if (in_turn(h)) {
        if (h->log && h->log->count)
            rp_log_apply(h->log, &h->mem);
        return in->gated(w, in);
    }
    if (!h->log)
        h->log = rp_sched_log(h->dispatch);
    if (!h->log || h->log->count + RP_LANES > RP_LOG_ENTRIES)
        return RP_STEP_TURN;
    h->logging = true;
    int step = in->gated(w, in);
    h->logging = false;
    return step;
}

/* Whether [from, to) and the pages of the log may have bytes in common. */
static bool log_has(const struct rp_atomic_log *log, uint64_t from, uint64_t to)
{
    if (to <= log->low || from >= log->high)
        return false;
    uint64_t page = from >> PAGE_SHIFT, last = (to - 1) >> PAGE_SHIFT;
    if (last - page > 64)
        return true;
    for (; page <= last; page++) {
        unsigned bit = page_bit(page);
        if (log->pages[bit / 64] >> bit % 64 & 1)
            return true;
    }
    return false;
}

enum { WIDEST_ACCESS = 64 }; /* bytes: s_load_dwordx16 */

static bool flat_touches(struct rp_wave *w, const struct rp_insn *in,
                         const struct rp_atomic_log *log)
{
    const struct rp_mem_lanes *lanes = w->group->dispatch->lanes;
    const uint32_t(*v)[RP_LANES] = (const uint32_t(*)[RP_LANES])w->vgpr + in->src[0].index;
    uint64_t exec = RP_EXEC(w), base = (uint64_t)(int64_t)in->offset;
    uint32_t low, high;
    if (!exec)
        return false;
    if (in->flags & RP_IF_SADDR) {
        base += rp_opnd_u64(w, &in->src[2]);
    } else {
        lanes->bounds(v[1], exec, &low, &high);
        if (low != high)
            return true;
        base += (uint64_t)low << 32;
    }
    lanes->bounds(v[0], exec, &low, &high);
    return log_has(log, base + low, base + high + WIDEST_ACCESS);
}

static bool is_private(const struct rp_wave *w, const struct rp_insn *in)
{
    return in->fmt == RP_FMT_MUBUF && in->src[2].kind == RP_OPND_SGPR &&
           rp_buffer_is_private(&w->sgpr[in->src[2].index]);
}

static bool touches(struct rp_wave *w, const struct rp_insn *in, const struct rp_atomic_log *log)
{
    if (in->fmt == RP_FMT_FLAT)
        return flat_touches(w, in, log);
    bool scratch = !strncmp(rp_isa_mnemonic(in->op), "s_scratch", 9); /* other units */
    if (in->fmt == RP_FMT_SMEM && in->src[2].dwords == 2 && !scratch) {
        uint64_t va = rp_opnd_u64(w, &in->src[2]) + (uint64_t)(int64_t)in->offset;
        if (in->flags & RP_IF_SOFFSET_EN)
            va += rp_opnd_u32(w, &in->src[1]);
        return log_has(log, va & ~3ull, va + WIDEST_ACCESS);
    }
    return !is_private(w, in); /* other buffer resources are taken to be anywhere */
}

/* A plain access: it must see the slice's own atomics. */
static int plain_gate(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_hand *h = w->group->hand;
    if (__builtin_expect(h->log && h->log->count && touches(w, in, h->log), 0)) {
        if (!in_turn(h))
            return RP_STEP_TURN;
        rp_log_apply(h->log, &h->mem);
    }
    return in->gated(w, in);
}

bool rp_order_is_plain(const struct rp_insn *in)
{
    return in->fn == plain_gate;
}

/*
 * A store of gfx90a, which may be an atomic one that releases what was done before: then whoever
 * sees it must see the slice's atomics.
 */
static int store_gate(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_hand *h = w->group->hand;
    if (__builtin_expect(h->log && h->log->count && !is_private(w, in), 0)) {
        if (!in_turn(h))
            return RP_STEP_TURN;
        rp_log_apply(h->log, &h->mem);
    }
    return in->gated(w, in);
}

/* ---- which gate ---------------------------------------------------------------------------- */

static bool is_memory(const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    switch (in->fmt) {
    case RP_FMT_FLAT:
        return in->seg != RP_SEG_SCRATCH;
    case RP_FMT_SMEM: /* others: clocks and cache maintenance */
        return row->src[2] != RP_T_NONE;
    case RP_FMT_MUBUF:
    case RP_FMT_MTBUF:
        return row->src[2] != RP_T_NONE;
    default:
        return false;
    }
}

/*
 * What HIP's atomic and volatile accesses are compiled to. gfx90a's say no more than that loads
 * bypass the near cache (glc; nontemporal ones have slc beside it), and nothing in stores: see
 * store_gate.
 */
static bool is_synchronising(const struct rp_insn *in)
{
    if (rp_isa_target_get() == RP_ISA_GFX90A)
        return in->dst.kind != RP_OPND_NONE && (in->flags & (RP_IF_SC0 | RP_IF_NT)) == RP_IF_SC0;
    return in->flags & RP_IF_SC1;
}

static rp_insn_fn *gate_of(const struct rp_insn *in)
{
    bool returns = in->dst.kind != RP_OPND_NONE || in->flags & RP_IF_SC0;
    if (in->op == RP_OP_s_sendmsg || in->op == RP_OP_s_sendmsghalt ||
        (in->fmt == RP_FMT_DS && in->flags & RP_IF_GDS))
        return ordered_gate;
    if (!is_memory(in))
        return NULL;
    const char *mnemonic = rp_isa_mnemonic(in->op);
    if (strstr(mnemonic, "atomic")) /* a log entry holds one operand: no compare and swap */
        return returns || in->fmt == RP_FMT_SMEM || strstr(mnemonic, "cmpswap") ? ordered_gate
                                                                                : note_gate;
    if (in->fmt != RP_FMT_SMEM && is_synchronising(in))
        return ordered_gate;
    return rp_isa_target_get() == RP_ISA_GFX90A && in->dst.kind == RP_OPND_NONE ? store_gate
                                                                                : plain_gate;
}

void rp_order_bind(struct rp_insn *in)
{
    rp_insn_fn *gate =
        in->op != RP_OP_INVALID && in->fn == rp_op_rows[in->op].fn ? gate_of(in) : NULL;
    if (!gate)
        return;
    in->gated = in->fn;
    in->fn = gate;
}
