/* Vector instructions on f16: computed in f32 and rounded. */
#include "device/jit/jit_block.h"

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

/* Vector instructions of 64 bits. The dwords of a value are in two rows; they are put together in
 * the order that unpacking within 128 bits gives, and taken apart in the same.
 */

/* Conditions of VCMPPD and VPCMPUD. */
enum { CMP_UNORD_Q = 3, CMP_EQ = 0 };

/* Both dwords of a source; or, where all lanes have the same, the value itself in lo. */
struct source64 {
    struct rp_src lo, hi;
};

static struct source64 source64(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i)
{
    struct source64 s;
    const unsigned scalar = RP_ZMM_SCALAR + i, part = RP_ZMM_PART + i;
    s.lo = rp_src_in(t, in, i, 0, scalar, part);
    /* The parts of the two swap roles: of a scalar the high dword is needed only until it is
     * joined, and where there is none its register is free. */
    s.hi = rp_src_in(t, in, i, 1, part, scalar);
    s.hi.neg = in->neg >> i & 1;
    s.hi.abs = in->abs >> i & 1;
    rp_src_settle(t, &s.hi);
    if (s.lo.kind == RP_SRC_SCALAR)
        rp_v3(t, RP_X86_VPUNPCKLDQ, scalar, scalar, rp_reg(part));
    return s;
}

/* 8 of a quarter's 16 values in a register. */
static unsigned joined(struct rp_jit_translation *t, const struct source64 *s, unsigned q,
                       bool second, unsigned to)
{
    if (s->lo.kind == RP_SRC_SCALAR)
        return s->lo.reg;
    const unsigned lo = rp_src_reg(t, &s->lo, q);
    rp_v3(t, second ? RP_X86_VPUNPCKHDQ : RP_X86_VPUNPCKLDQ, to, lo, rp_src_rm(t, &s->hi, q));
    return to;
}

/* Dwords of the values in TEMP and TEMP2. */
static void part(struct rp_jit_translation *t, unsigned lo, unsigned hi)
{
    rp_x86_v(&t->x86, RP_X86_VSHUFPS, RP_ALL, lo, RP_ZMM_TEMP, rp_reg(RP_ZMM_TEMP2), 0x88);
    rp_x86_v(&t->x86, RP_X86_VSHUFPS, RP_ALL, hi, RP_ZMM_TEMP, rp_reg(RP_ZMM_TEMP2), 0xdd);
}

static bool store64(struct rp_jit_translation *t, const struct rp_insn *in, unsigned lo,
                    unsigned hi)
{
    rp_result_store(t, lo, in->dst.index);
    rp_result_store(t, hi, in->dst.index + 1u);
    return true;
}

/* The flags have whether there is any NaN; where, the high dwords of the results have: those that
 * arithmetic gives are quiet. */
static void leave_nan64(struct rp_jit_translation *t, unsigned hi)
{
    enum { QUIET_NAN = 0x7ff80000 };
    if (!t->masked) {
        rp_jit_leave(t, rp_x86_jcc(&t->x86, RP_CC_NE));
        return;
    }
    const size_t none = rp_x86_jcc(&t->x86, RP_CC_E);
    for (unsigned q = 0; q < 4; q++) {
        rp_v3_const(t, RP_X86_VPANDD, RP_ZMM_TEMP, hi + q, QUIET_NAN);
        rp_x86_v(&t->x86, RP_X86_VPCMPUD, RP_BROADCAST, q, RP_ZMM_TEMP,
                 rp_jit_constant(t, QUIET_NAN), CMP_EQ);
    }
    rp_leave_lanes(t);
    rp_x86_land(&t->x86, none, t->x86.bytes);
}

/* v_add_f64, v_mul_f64; with an immediate v_fma_f64 and v_fmac_f64. */
WRITER(double2)
{
    const bool fused = row->imm;
    const struct source64 a = source64(t, in, 0), b = source64(t, in, 1);
    const struct source64 c = fused ? source64(t, in, 2) : a;
    const unsigned lo = rp_result_new(t), hi = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        for (unsigned second = 0; second < 2; second++) {
            const unsigned d = RP_ZMM_TEMP + second;
            if (fused)
                rp_v2(t, RP_X86_VMOVLOAD, d, rp_reg(joined(t, &c, q, second, d)), 0);
            const unsigned x = joined(t, &a, q, second, RP_ZMM_PART);
            const unsigned y = joined(t, &b, q, second, RP_ZMM_PART + 1);
            rp_v3(t, row->vop, d, x, rp_reg(y));
        }
        rp_x86_v(&t->x86, RP_X86_VCMPPD, RP_ALL, q, RP_ZMM_TEMP, rp_reg(RP_ZMM_TEMP2), CMP_UNORD_Q);
        part(t, lo + q, hi + q);
    }
    rp_x86_k(&t->x86, RP_X86_KORW, 0, 0, rp_reg(1));
    rp_x86_k(&t->x86, RP_X86_KORW, 2, 2, rp_reg(3));
    rp_x86_k(&t->x86, RP_X86_KORTESTW, 0, 0, rp_reg(2));
    leave_nan64(t, hi);
    return store64(t, in, lo, hi);
}

/* Dwords to f64. The halves of 16 lanes stay in their order, so tables take them apart. */
WRITER(widen)
{
    struct rp_src a = rp_src_signed(t, in, 0);
    rp_src_settle(t, &a);
    const unsigned lo = rp_result_new(t), hi = rp_result_new(t);
    const unsigned even = RP_ZMM_SCALAR + 1, odd = RP_ZMM_SCALAR + 2;
    rp_v2(t, RP_X86_VMOVLOAD, even, rp_jit_table(t, RP_JIT_EVEN), 0);
    rp_v2(t, RP_X86_VMOVLOAD, odd, rp_jit_table(t, RP_JIT_ODD), 0);
    for (unsigned q = 0; q < 4; q++) {
        const unsigned x = rp_src_reg(t, &a, q);
        rp_x86_v(&t->x86, RP_X86_VEXTRACTI64X4, RP_ALL, x, 0, rp_reg(RP_ZMM_TEMP2), 1);
        rp_v2(t, row->vop, RP_ZMM_TEMP, rp_reg(x), 0);
        rp_v2(t, row->vop, RP_ZMM_TEMP2, rp_reg(RP_ZMM_TEMP2), 0);
        rp_v2(t, RP_X86_VMOVLOAD, lo + q, rp_reg(RP_ZMM_TEMP), 0);
        rp_v3(t, RP_X86_VPERMT2D, lo + q, even, rp_reg(RP_ZMM_TEMP2));
        rp_v2(t, RP_X86_VMOVLOAD, hi + q, rp_reg(RP_ZMM_TEMP), 0);
        rp_v3(t, RP_X86_VPERMT2D, hi + q, odd, rp_reg(RP_ZMM_TEMP2));
    }
    return store64(t, in, lo, hi);
}

/* Shifts by a constant: left, or, with an immediate, right; then the operation is that of the high
 * dword. The bits that pass from one dword to the other are shifted the other way. */
WRITER(shift64)
{
    const bool right = row->imm;
    if (in->src[0].kind != RP_OPND_CONST)
        return false;
    const unsigned count = in->src[0].imm & 63;
    const struct rp_src low = rp_src_in(t, in, 1, 0, RP_ZMM_SCALAR, RP_ZMM_PART);
    const struct rp_src high = rp_src_in(t, in, 1, 1, RP_ZMM_SCALAR + 1, RP_ZMM_PART + 1);
    const struct rp_src *from = right ? &high : &low, *to = right ? &low : &high;
    const unsigned lo = rp_result_new(t), hi = rp_result_new(t);
    const unsigned d_from = right ? hi : lo, d_to = right ? lo : hi;
    for (unsigned q = 0; q < 4; q++) {
        const struct rp_rm x = rp_src_rm(t, from, q);
        if (count < 32) {
            rp_vshift(t, right ? RP_X86_VPSRLD_IMM : RP_X86_VPSLLD_IMM, d_to + q,
                      rp_src_rm(t, to, q), count);
            rp_vshift(t, right ? RP_X86_VPSLLD_IMM : RP_X86_VPSRLD_IMM, RP_ZMM_TEMP, x, 32 - count);
            rp_v3(t, RP_X86_VPORD, d_to + q, d_to + q, rp_reg(RP_ZMM_TEMP));
            rp_vshift(t, row->vop, d_from + q, x, count);
        } else {
            rp_vshift(t, row->vop, d_to + q, x, count - 32);
            rp_vshift(t, row->vop, d_from + q, x, row->vop == RP_X86_VPSRAD_IMM ? 31 : 32);
        }
    }
    return store64(t, in, lo, hi);
}

/* A quarter of a << count; without a shift what there is already. */
static void shift_quarter(struct rp_jit_translation *t, const struct rp_src a[2], unsigned count,
                          unsigned quarter, const unsigned d[2], unsigned ret_reg[2])
{
    if (!count) {
        ret_reg[0] = rp_src_reg(t, &a[0], quarter);
        ret_reg[1] = rp_src_reg(t, &a[1], quarter);
        return;
    }
    const struct rp_rm x = rp_src_rm(t, &a[0], quarter);
    rp_vshift(t, RP_X86_VPSLLD_IMM, d[0], x, count);
    rp_vshift(t, RP_X86_VPSRLD_IMM, RP_ZMM_TEMP2, x, 32 - count);
    rp_vshift(t, RP_X86_VPSLLD_IMM, d[1], rp_src_rm(t, &a[1], quarter), count);
    rp_v3(t, RP_X86_VPORD, d[1], d[1], rp_reg(RP_ZMM_TEMP2));
    ret_reg[0] = d[0];
    ret_reg[1] = d[1];
}

/* v_lshl_add_u64 by a constant, as in addresses of array elements. */
WRITER(shift_add64)
{
    enum { CMP_LT = 1 };
    const struct rp_mask carried = {.k = 1, .broadcast = true};
    (void)row;
    if (in->src[1].kind != RP_OPND_CONST)
        return false;
    const unsigned count = in->src[1].imm & 7;
    struct rp_src a[2];
    a[0] = rp_src(t, in, 0, 0);
    const struct rp_src c = rp_src(t, in, 2, 0);
    a[1] = rp_src_in(t, in, 0, 1, RP_ZMM_SCALAR + 1, RP_ZMM_TEMP);
    const struct rp_src c_hi = rp_src_in(t, in, 2, 1, RP_ZMM_PART + 1, RP_ZMM_TEMP);
    const unsigned lo = rp_result_new(t), hi = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        const unsigned d[2] = {lo + q, hi + q};
        unsigned x[2];
        shift_quarter(t, a, count, q, d, x);
        const struct rp_rm y = rp_src_rm(t, &c, q); /* a row or a scalar: needs no register */
        rp_v3(t, RP_X86_VPADDD, lo + q, x[0], y);
        rp_x86_v(&t->x86, RP_X86_VPCMPUD, RP_ALL, 1, lo + q, y, CMP_LT);
        rp_v3(t, RP_X86_VPADDD, hi + q, x[1], rp_src_rm(t, &c_hi, q));
        rp_x86_v(&t->x86, RP_X86_VPSUBD, carried, hi + q, hi + q, rp_jit_constant(t, ~0u), 0);
    }
    return store64(t, in, lo, hi);
}

/* Vector instructions on packed floats, and moves between lanes, scalars and files. */

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

/* ---- moves ---- */

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
