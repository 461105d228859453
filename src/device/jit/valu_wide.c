/* Vector instructions on packed floats, and moves between lanes, scalars and files. */
#include "valu.h"

#define WRITER(name)                                                                               \
    bool rp_write_##name(struct rp_jit_translation *t, const struct rp_insn *in,                   \
                         const struct rp_valu_row *row)

/* ---- packed f32: the sources of the low and the high result are chosen by op_sel ---- */

static struct rp_src packed_source(struct rp_jit_translation *t, const struct rp_insn *in,
                                   unsigned i, bool high)
{
    struct rp_src s = rp_src(t, in, i, (high ? in->op_sel_hi : in->op_sel) >> i & 1);
    s.neg = (high ? in->abs : in->neg) >> i & 1; /* abs is neg_hi */
    return s;
}

static unsigned packed_half(struct rp_jit_translation *t, const struct rp_insn *in,
                            const struct rp_valu_row *row, bool high)
{
    const bool fused = row->imm == 3;
    struct rp_src a = packed_source(t, in, 0, high), b = packed_source(t, in, 1, high);
    struct rp_src c = fused ? packed_source(t, in, 2, high) : a;
    const bool neg_product = a.neg ^ b.neg, neg_sum = c.neg;
    if (fused)
        a.neg = b.neg = c.neg = false;
    rp_src_settle(t, &a);
    rp_src_settle(t, &b);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        if (!fused) {
            const unsigned x = rp_src_reg(t, &a, q);
            rp_v3(t, row->vop, d + q, x, rp_src_rm(t, &b, q));
            continue;
        }
        rp_v2(t, RP_X86_VMOVLOAD, d + q, rp_src_rm(t, &c, q), 0);
        const unsigned x = rp_src_reg(t, &a, q);
        rp_write_fma(t, d + q, x, rp_src_rm(t, &b, q), neg_product, neg_sum);
    }
    return d;
}

WRITER(packed)
{
    const unsigned lo = packed_half(t, in, row, false);
    t->pinned = 1u << lo / 4;
    const unsigned hi = packed_half(t, in, row, true);
    rp_leave_nan2(t, lo, hi);
    rp_result_store(t, lo, in->dst.index);
    rp_result_store(t, hi, in->dst.index + 1u);
    return true;
}

/* ---- moves: plain instructions without a handler in isa/valu_fast.c ---- */

static bool is_plain(const struct rp_insn *in)
{
    return !(in->flags & (RP_IF_SRCMOD | RP_IF_DSTMOD | RP_IF_DPP | RP_IF_SDWA));
}

static bool is_lane_constant(const struct rp_insn *in)
{
    return in->src[1].kind == RP_OPND_CONST;
}

bool rp_write_cross_knows(const struct rp_insn *in)
{
    const bool from_row = in->src[0].kind == RP_OPND_VGPR;
    const bool from_scalar = in->src[0].kind == RP_OPND_SGPR || in->src[0].kind == RP_OPND_CONST;
    if (!is_plain(in))
        return false;
    if (in->fn == rp_v_readlane_b32)
        return from_row && is_lane_constant(in);
    if (in->fn == rp_v_writelane_b32)
        return from_scalar && is_lane_constant(in) && in->dst.kind == RP_OPND_VGPR;
    if (in->fn == rp_v_readfirstlane_b32)
        return from_row;
    if (in->op == RP_OP_v_mov_b64)
        return (from_row || from_scalar) && in->dst.kind == RP_OPND_VGPR;
    return in->fn == rp_v_accvgpr_read_b32 && in->src[0].kind == RP_OPND_AGPR &&
           in->dst.kind == RP_OPND_VGPR;
}

/* Byte of a lane's dword in the row of an operand. */
static struct rp_rm lane_at(const struct rp_opnd *o, unsigned lane)
{
    return rp_at(RP_JIT_ROWS, rp_row_disp(o->index, 0) + (int32_t)(4 * lane));
}

static void read_first(struct rp_jit_translation *t, const struct rp_insn *in)
{
    struct rp_x86 *e = &t->x86;
    if (!t->masked) {
        rp_x86_load(e, false, RP_RAX, lane_at(&in->src[0], 0));
    } else { /* no lane at all: 64, of which 0 remains */
        rp_x86_tzcnt(e, true, RP_RAX, rp_jit_exec());
        rp_x86_alu_imm(e, false, RP_AND, rp_reg(RP_RAX), 63);
        rp_x86_shift_imm(e, false, RP_SHL, RP_RAX, 2);
        rp_x86_alu(e, true, RP_ADD, RP_RAX, rp_reg(RP_JIT_ROWS));
        rp_x86_load(e, false, RP_RAX, rp_at(RP_RAX, rp_row_disp(in->src[0].index, 0)));
    }
    rp_x86_store(e, false, rp_jit_sgpr(in->dst.index), RP_RAX);
}

static void write_lane(struct rp_jit_translation *t, const struct rp_insn *in)
{
    const unsigned lane = in->src[1].imm & 63;
    if (in->src[0].kind == RP_OPND_SGPR)
        rp_x86_load(&t->x86, false, RP_RAX, rp_jit_sgpr(in->src[0].index));
    else
        rp_x86_mov_imm(&t->x86, RP_RAX, (uint32_t)in->src[0].imm);
    rp_x86_store(&t->x86, false, lane_at(&in->dst, lane), RP_RAX);
    rp_rows_forget_row(t, in->dst.index);
}

static void move64(struct rp_jit_translation *t, const struct rp_insn *in)
{
    unsigned d[2];
    for (unsigned dword = 0; dword < 2; dword++) {
        const struct rp_src a = rp_src(t, in, 0, dword);
        d[dword] = rp_result_new(t);
        for (unsigned q = 0; q < 4; q++)
            rp_v2(t, RP_X86_VMOVLOAD, d[dword] + q, rp_src_rm(t, &a, q), 0);
    }
    rp_result_store(t, d[0], in->dst.index);
    rp_result_store(t, d[1], in->dst.index + 1u);
}

static void acc_read(struct rp_jit_translation *t, const struct rp_insn *in)
{
    const unsigned d = rp_result_new(t);
    rp_x86_load(&t->x86, true, RP_RAX, rp_at(RP_JIT_W, offsetof(struct rp_wave, agpr)));
    for (unsigned q = 0; q < 4; q++)
        rp_v2(t, RP_X86_VMOVLOAD, d + q,
              rp_at(RP_RAX, rp_row_disp(in->src[0].index, q) + RP_JIT_ROW_BIAS), 0);
    rp_result_store(t, d, in->dst.index);
}

bool rp_write_cross(struct rp_jit_translation *t, const struct rp_insn *in)
{
    if (!rp_write_cross_knows(in))
        return false;
    if (in->fn == rp_v_readlane_b32) {
        rp_x86_load(&t->x86, false, RP_RAX, lane_at(&in->src[0], in->src[1].imm & 63));
        rp_x86_store(&t->x86, false, rp_jit_sgpr(in->dst.index), RP_RAX);
    } else if (in->fn == rp_v_writelane_b32) {
        write_lane(t, in);
    } else if (in->fn == rp_v_readfirstlane_b32) {
        read_first(t, in);
    } else if (in->op == RP_OP_v_mov_b64) {
        move64(t, in);
    } else {
        acc_read(t, in);
    }
    return true;
}
