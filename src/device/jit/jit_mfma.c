/*
 * Matrix instructions: calls of the parts of their kernels, widening only what is not widened yet.
 * As everywhere in a block, registers are in memory before and after.
 */
#include "device/jit/jit_block.h"

/** What a call of a handler may write beside its result is not known of all of them. */
static bool writes_result_only(const struct rp_insn *in)
{
    switch (in->fmt) {
    case RP_FMT_SOP1:
    case RP_FMT_SOP2:
    case RP_FMT_SOPC:
    case RP_FMT_SOPK:
    case RP_FMT_SOPP:
    case RP_FMT_SMEM:
    case RP_FMT_DS:
    case RP_FMT_FLAT:
    case RP_FMT_MUBUF:
    case RP_FMT_MTBUF:
        return true;
    default:
        return in->fn == rp_mfma || in->fn == rp_v_accvgpr_read_b32 || rp_jit_valu_knows(in);
    }
}

void rp_wide_forget(struct rp_jit_translation *t)
{
    for (unsigned i = 0; i < RP_JIT_WIDES; i++)
        t->wide[i].widen = NULL;
}

static bool meet(const struct rp_opnd *o, unsigned kind, unsigned first, unsigned rows)
{
    return o->kind == kind && o->index < first + rows && first < o->index + (unsigned)o->dwords;
}

void rp_wide_written(struct rp_jit_translation *t, const struct rp_insn *in)
{
    if (!writes_result_only(in)) {
        rp_wide_forget(t);
        return;
    }
    for (unsigned i = 0; i < RP_JIT_WIDES; i++) {
        struct rp_jit_wide *w = &t->wide[i];
        if (meet(&in->dst, w->kind, w->first, w->rows) ||
            meet(&in->sdst, w->kind, w->first, w->rows))
            w->widen = NULL;
    }
}

static bool is_rows(const struct rp_opnd *o)
{
    return o->kind == RP_OPND_VGPR || o->kind == RP_OPND_AGPR;
}

static bool overlap(const struct rp_opnd *a, const struct rp_opnd *b)
{
    return meet(a, b->kind, b->index, b->dwords);
}

/* reg = address of the operand's first row. */
static void rows_address(struct rp_jit_translation *t, unsigned reg, const struct rp_opnd *o)
{
    if (o->kind == RP_OPND_VGPR) {
        rp_x86_lea(&t->x86, reg, rp_at(RP_JIT_ROWS, rp_row_disp(o->index, 0)));
        return;
    }
    rp_x86_load(&t->x86, true, reg, rp_at(RP_JIT_W, offsetof(struct rp_wave, agpr)));
    rp_x86_lea(&t->x86, reg, rp_at(reg, (int32_t)(o->index * sizeof(uint32_t[RP_LANES]))));
}

/* reg = address in scratch memory, which lies behind [RSP]. */
static void scratch_address(struct rp_jit_translation *t, unsigned reg, unsigned wide)
{
    rp_x86_lea(&t->x86, reg, rp_at(RP_RSP, (int32_t)(8 + 63 + wide * RP_WIDE_BYTES)));
    rp_x86_alu_imm(&t->x86, true, RP_AND, rp_reg(reg), -64);
}

static void call(struct rp_jit_translation *t, uintptr_t function)
{
    rp_x86_mov_imm(&t->x86, RP_RAX, function);
    rp_x86_call_reg(&t->x86, RP_RAX);
}

/* Where the operand is, widened, or the one used longest ago but for @p not. */
static unsigned place_of(const struct rp_jit_translation *t, const struct rp_opnd *o,
                         rp_mfma_widen_fn *widen, unsigned other)
{
    unsigned best = other == 0;
    for (unsigned i = 0; i < RP_JIT_WIDES; i++) {
        const struct rp_jit_wide *w = &t->wide[i];
        if (w->widen == widen && w->kind == o->kind && w->first == o->index && w->rows == o->dwords)
            return i;
        if (i == other)
            continue;
        if (t->wide[best].widen && (!w->widen || w->used < t->wide[best].used))
            best = i;
    }
    return best;
}

/* Makes operand @p i wide; returns its place. */
static unsigned make_wide(struct rp_jit_translation *t, const struct rp_opnd *o,
                          rp_mfma_widen_fn *widen, unsigned values, unsigned other)
{
    const unsigned place = place_of(t, o, widen, other);
    struct rp_jit_wide *w = &t->wide[place];
    w->used = ++t->clock;
    if (w->widen == widen && w->kind == o->kind && w->first == o->index && w->rows == o->dwords)
        return place;
    *w = (struct rp_jit_wide){
        .widen = widen, .kind = o->kind, .first = o->index, .rows = o->dwords, .used = w->used};
    scratch_address(t, RP_RDI, place);
    rows_address(t, RP_RSI, o);
    rp_x86_mov_imm(&t->x86, RP_RDX, values);
    call(t, (uintptr_t)widen);
    return place;
}

static bool can_do(const struct rp_insn *in, const struct rp_mfma_parts *parts)
{
    const struct rp_opnd *c = &in->src[2];
    if (in->cbsz || in->abid || in->blgp || in->flags & RP_IF_FLUSH || !is_rows(&in->src[0]) ||
        !is_rows(&in->src[1]) || !is_rows(&in->dst) || !is_rows(c))
        return false;
    if (overlap(c, &in->dst) && c->index != in->dst.index)
        return false;
    /* What is not widened is read while D is written. */
    return (parts->widen_a || !overlap(&in->src[0], &in->dst)) &&
           (parts->widen_b || !overlap(&in->src[1], &in->dst));
}

bool rp_jit_mfma(struct rp_jit_translation *t, const struct rp_insn *in)
{
    struct rp_mfma_parts parts;
    unsigned a = RP_JIT_WIDES, b = RP_JIT_WIDES;
    if (in->fn != rp_mfma || !rp_mfma_parts(in->lane, &parts) || !can_do(in, &parts))
        return false;
    if (parts.widen_a)
        a = make_wide(t, &in->src[0], parts.widen_a, parts.values, a);
    if (parts.widen_b)
        b = make_wide(t, &in->src[1], parts.widen_b, parts.values, a);
    rows_address(t, RP_RDI, &in->dst);
    rows_address(t, RP_RSI, &in->src[2]);
    rp_x86_mov_imm(&t->x86, RP_RDX, RP_LANES);
    if (parts.widen_a)
        scratch_address(t, RP_RCX, a);
    else
        rows_address(t, RP_RCX, &in->src[0]);
    if (parts.widen_b)
        scratch_address(t, RP_R8, b);
    else
        rows_address(t, RP_R8, &in->src[1]);
    call(t, (uintptr_t)parts.core);
    rp_rows_forget(t); /* the CPU's registers, that is */
    if (t->masked)
        rp_rows_load_masks(t);
    return true;
}
