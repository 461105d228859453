/* Vector instructions on f16: computed in f32 and rounded, as in isa/valu_fast_wide.c. */
#include "valu.h"

#define WRITER(name)                                                                               \
    bool rp_write_##name(struct rp_jit_translation *t, const struct rp_insn *in,                   \
                         const struct rp_valu_row *row)

WRITER(to_f16)
{
    (void)row;
    struct rp_src a = rp_src_signed(t, in, 0);
    rp_src_settle(t, &a);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++)
        rp_narrow(t, d + q, rp_src_reg(t, &a, q));
    rp_result_store(t, d, in->dst.index);
    return true;
}

WRITER(from_f16)
{
    (void)row;
    const struct rp_src a = rp_src_half(t, in, 0, false);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++)
        rp_v2(t, RP_X86_VMOVLOAD, d + q, rp_src_rm(t, &a, q), 0);
    rp_result_store(t, d, in->dst.index);
    return true;
}

/* The f16 of source @p i for the low or high result. */
static struct rp_src half_source(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i,
                                 bool high)
{
    if (!(in->flags & RP_IF_SRCMOD))
        return rp_src_half(t, in, i, high);
    struct rp_src s = rp_src_half(t, in, i, (high ? in->op_sel_hi : in->op_sel) >> i & 1);
    s.neg = (high ? in->abs : in->neg) >> i & 1; /* abs is neg_hi */
    rp_src_settle(t, &s);
    return s;
}

/* Two f16, of the low or high halves, to f32: not rounded yet, and without NaN. */
static unsigned halves(struct rp_jit_translation *t, const struct rp_insn *in,
                       const struct rp_valu_row *row, bool high)
{
    const bool reversed = row->imm;
    const struct rp_src a = half_source(t, in, reversed, high);
    const struct rp_src b = half_source(t, in, !reversed, high);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        const unsigned x = rp_src_reg(t, &a, q);
        rp_v3(t, row->vop, d + q, x, rp_src_rm(t, &b, q));
    }
    rp_leave_nan(t, d);
    return d;
}

WRITER(half2)
{
    const unsigned d = halves(t, in, row, false);
    for (unsigned q = 0; q < 4; q++)
        rp_narrow(t, d + q, d + q);
    rp_result_store(t, d, in->dst.index);
    return true;
}

WRITER(packed_half2)
{
    const unsigned lo = halves(t, in, row, false);
    t->pinned = 1u << lo / 4;
    const unsigned hi = halves(t, in, row, true);
    for (unsigned q = 0; q < 4; q++) {
        rp_narrow(t, lo + q, lo + q);
        rp_narrow(t, hi + q, hi + q);
        rp_vshift(t, RP_X86_VPSLLD_IMM, hi + q, rp_reg(hi + q), 16);
        rp_v3(t, RP_X86_VPORD, lo + q, lo + q, rp_reg(hi + q));
    }
    rp_result_store(t, lo, in->dst.index);
    return true;
}

/* ---- v_fma_mix: each source is f32, or the f16 half op_sel names where op_sel_hi is set ---- */

static struct rp_src mix_source(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i)
{
    struct rp_src s =
        in->op_sel_hi >> i & 1 ? rp_src_half(t, in, i, in->op_sel >> i & 1) : rp_src(t, in, i, 0);
    s.neg = in->neg >> i & 1;
    s.abs = in->abs >> i & 1;
    return s;
}

/* The f16 results go to one half of the row and leave the other. */
static void place(struct rp_jit_translation *t, const struct rp_insn *in, unsigned d, bool high)
{
    for (unsigned q = 0; q < 4; q++) {
        rp_narrow(t, d + q, d + q);
        if (high)
            rp_vshift(t, RP_X86_VPSLLD_IMM, d + q, rp_reg(d + q), 16);
        rp_v2(t, RP_X86_VMOVLOAD, RP_ZMM_TEMP, rp_at(RP_JIT_ROWS, rp_row_disp(in->dst.index, q)),
              0);
        rp_v3_const(t, RP_X86_VPANDD, RP_ZMM_TEMP, RP_ZMM_TEMP, high ? 0xffff : 0xffff0000);
        rp_v3(t, RP_X86_VPORD, d + q, d + q, rp_reg(RP_ZMM_TEMP));
    }
}

WRITER(mix)
{
    struct rp_src a = mix_source(t, in, 0), b = mix_source(t, in, 1), c = mix_source(t, in, 2);
    const bool neg_product = a.neg ^ b.neg, neg_sum = c.neg;
    a.neg = b.neg = c.neg = false;
    rp_src_settle(t, &a);
    rp_src_settle(t, &b);
    rp_src_settle(t, &c);
    const bool in_place = c.kind == RP_SRC_SLOT && !c.abs && !(in->op_sel_hi & 4) &&
                          in->src[2].index == in->dst.index;
    const unsigned d = in_place ? c.reg : rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        if (!in_place)
            rp_v2(t, RP_X86_VMOVLOAD, d + q, rp_src_rm(t, &c, q), 0);
        const unsigned x = rp_src_reg(t, &a, q);
        rp_write_fma(t, d + q, x, rp_src_rm(t, &b, q), neg_product, neg_sum);
    }
    rp_leave_nan(t, d);
    if (row->imm)
        place(t, in, d, row->imm == RP_HIGH_HALF);
    rp_result_store(t, d, in->dst.index);
    return true;
}
