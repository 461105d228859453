/* Writers of vector instructions: jit_valu.c (one dword per lane), jit_valu_wide.c (others). */
/*
 * Vector instructions of one dword per lane. All results are known before
 * the first is stored, and a NaN, for which the processor has other rules, leaves the instruction
 * to the interpreter.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/isa/valu.h"
#include "device/jit/jit_block.h"

#define RP_ZERO(n) ((struct rp_mask){(uint8_t)(n), true, false})

/* Conditions of VPCMP. */
enum { CMP_EQ = 0, CMP_LT = 1 };

/* Conditions of VCMPPS. */
enum { CMP_ORD_Q = 0x07, CMP_GE_OQ = 0x1d, CMP_GT_OQ = 0x1e, CMP_UNORD_Q = 0x03 };

#define WRITER(name)                                                                               \
    bool rp_write_##name(struct rp_jit_translation *t, const struct rp_insn *in,                   \
                         const struct rp_valu_row *row)

static struct rp_src source(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i)
{
    struct rp_src s = rp_src_signed(t, in, i);
    rp_src_settle(t, &s);
    return s;
}

static void copy(struct rp_jit_translation *t, unsigned to, struct rp_rm from)
{
    rp_v2(t, RP_X86_VMOVLOAD, to, from, 0);
}

static bool finish(struct rp_jit_translation *t, const struct rp_insn *in, unsigned d)
{
    rp_result_store(t, d, in->dst.index);
    return true;
}

/* ---- one source ---- */

WRITER(move)
{
    (void)row;
    const struct rp_src a = source(t, in, 0);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++)
        copy(t, d + q, rp_src_rm(t, &a, q));
    return finish(t, in, d);
}

WRITER(negate)
{
    (void)row;
    const struct rp_src a = source(t, in, 0);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++)
        rp_v3_const(t, RP_X86_VPXORD, d + q, rp_src_reg(t, &a, q), ~0u);
    return finish(t, in, d);
}

WRITER(unary)
{
    const struct rp_src a = source(t, in, 0);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++)
        rp_v2(t, row->vop, d + q, rp_src_rm(t, &a, q), row->imm);
    return finish(t, in, d);
}

WRITER(float1)
{
    const struct rp_src a = source(t, in, 0);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++)
        rp_v2(t, row->vop, d + q, rp_src_rm(t, &a, q), row->imm);
    rp_leave_nan(t, d);
    return finish(t, in, d);
}

WRITER(byte_f32)
{
    const struct rp_src a = source(t, in, 0);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        if (row->imm)
            rp_vshift(t, RP_X86_VPSRLD_IMM, d + q, rp_src_rm(t, &a, q), row->imm);
        else
            copy(t, d + q, rp_src_rm(t, &a, q));
        rp_v3_const(t, RP_X86_VPANDD, d + q, d + q, 0xff);
        rp_v2(t, RP_X86_VCVTDQ2PS, d + q, rp_reg(d + q), 0);
    }
    return finish(t, in, d);
}

/* Toward zero; NaN gives 0, what is too large the end of the range. */
WRITER(to_i32)
{
    (void)row;
    const struct rp_src a = source(t, in, 0);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        const unsigned v = rp_src_reg(t, &a, q);
        rp_x86_v(&t->x86, RP_X86_VCMPPS, RP_ALL, 1, v, rp_reg(v), CMP_ORD_Q);
        rp_x86_v(&t->x86, RP_X86_VCMPPS, RP_BROADCAST, 2, v, rp_jit_constant(t, 0x4f000000),
                 CMP_GE_OQ); /* 2^31 */
        rp_x86_v(&t->x86, RP_X86_VCVTTPS2DQ, RP_ZERO(1), d + q, 0, rp_reg(v), 0);
        rp_x86_v(&t->x86, RP_X86_VBROADCAST, RP_MERGE(2), d + q, 0, rp_jit_constant(t, INT32_MAX),
                 0);
    }
    return finish(t, in, d);
}

WRITER(to_u32)
{
    (void)row;
    const struct rp_src a = source(t, in, 0);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        const unsigned v = rp_src_reg(t, &a, q);
        rp_x86_v(&t->x86, RP_X86_VCMPPS, RP_BROADCAST, 1, v, rp_jit_constant(t, 0), CMP_GT_OQ);
        rp_x86_v(&t->x86, RP_X86_VCVTTPS2UDQ, RP_ZERO(1), d + q, 0, rp_reg(v), 0);
    }
    return finish(t, in, d);
}

/* ---- two sources ---- */

static bool two(struct rp_jit_translation *t, const struct rp_insn *in, unsigned vop, bool reversed,
                bool is_float)
{
    const struct rp_src a = source(t, in, reversed), b = source(t, in, !reversed);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++)
        rp_v3(t, vop, d + q, rp_src_reg(t, &a, q), rp_src_rm(t, &b, q));
    if (is_float)
        rp_leave_nan(t, d);
    return finish(t, in, d);
}

WRITER(binary)
{
    return two(t, in, row->vop, false, false);
}

WRITER(reversed)
{
    return two(t, in, row->vop, true, false);
}

WRITER(float2)
{
    return two(t, in, row->vop, row->imm, true);
}

/* Minimum and maximum. With a NaN among the sources it is not the processor's business. */
WRITER(range)
{
    const struct rp_src a = source(t, in, 0), b = source(t, in, 1);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        const unsigned x = rp_src_reg(t, &a, q);
        const struct rp_rm y = rp_src_rm(t, &b, q);
        rp_x86_v(&t->x86, RP_X86_VCMPPS, RP_ALL, q, x, y, CMP_UNORD_Q);
        rp_x86_v(&t->x86, RP_X86_VRANGEPS, RP_ALL, d + q, x, y, row->imm);
    }
    rp_leave_lanes(t);
    return finish(t, in, d);
}

/* ---- shifts: the low five bits count ---- */

static bool is_constant(const struct rp_insn *in, unsigned i)
{
    return in->src[i].kind == RP_OPND_CONST;
}

static unsigned constant_count(const struct rp_insn *in, unsigned i)
{
    return in->src[i].imm & 31;
}

/* A quarter of a source of counts, reduced to @p keep. */
static unsigned low_bits(struct rp_jit_translation *t, const struct rp_src *s, unsigned q,
                         uint32_t keep)
{
    rp_v3_const(t, RP_X86_VPANDD, s->part, rp_src_reg(t, s, q), keep);
    return s->part;
}

WRITER(shift)
{
    if (is_constant(in, 0)) {
        const struct rp_src b = source(t, in, 1);
        const unsigned d = rp_result_new(t);
        for (unsigned q = 0; q < 4; q++)
            rp_vshift(t, row->vop2, d + q, rp_src_rm(t, &b, q), constant_count(in, 0));
        return finish(t, in, d);
    }
    const struct rp_src a = source(t, in, 0), b = source(t, in, 1);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        const unsigned count = low_bits(t, &a, q, 31);
        rp_v3(t, row->vop, d + q, rp_src_reg(t, &b, q), rp_reg(count));
    }
    return finish(t, in, d);
}

/* d = op(a << b, c) */
WRITER(shift_then)
{
    const bool constant = is_constant(in, 1);
    const struct rp_src a = source(t, in, 0), c = source(t, in, 2);
    struct rp_src b = a;
    if (!constant)
        b = source(t, in, 1);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        if (constant) {
            rp_vshift(t, RP_X86_VPSLLD_IMM, d + q, rp_src_rm(t, &a, q), constant_count(in, 1));
        } else {
            const unsigned count = low_bits(t, &b, q, 31);
            rp_v3(t, RP_X86_VPSLLVD, d + q, rp_src_reg(t, &a, q), rp_reg(count));
        }
        rp_v3(t, row->vop, d + q, d + q, rp_src_rm(t, &c, q));
    }
    return finish(t, in, d);
}

WRITER(add_shift)
{
    (void)row;
    const struct rp_src a = source(t, in, 0), b = source(t, in, 1), c = source(t, in, 2);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        const unsigned count = low_bits(t, &c, q, 31);
        rp_v3(t, RP_X86_VPADDD, d + q, rp_src_reg(t, &a, q), rp_src_rm(t, &b, q));
        rp_v3(t, RP_X86_VPSLLVD, d + q, d + q, rp_reg(count));
    }
    return finish(t, in, d);
}

/* v_bfe_u32: (a >> b) without the bits from the c-th on. */
WRITER(field)
{
    (void)row;
    const struct rp_src a = source(t, in, 0), b = source(t, in, 1), c = source(t, in, 2);
    const unsigned d = rp_result_new(t), ones = RP_ZMM_TEMP;
    rp_x86_v(&t->x86, RP_X86_VBROADCAST, RP_ALL, ones, 0, rp_jit_constant(t, ~0u), 0);
    for (unsigned q = 0; q < 4; q++) {
        const unsigned width = low_bits(t, &c, q, 31), from = low_bits(t, &b, q, 31);
        rp_v3(t, RP_X86_VPSRLVD, d + q, rp_src_reg(t, &a, q), rp_reg(from));
        rp_v3(t, RP_X86_VPSLLVD, RP_ZMM_TEMP2, ones, rp_reg(width));
        rp_v3(t, RP_X86_VPANDND, d + q, RP_ZMM_TEMP2, rp_reg(d + q));
    }
    return finish(t, in, d);
}

/* The low dword of a:b >> c. Other counts than constants are the handler's. */
WRITER(align)
{
    (void)row;
    if (!is_constant(in, 2))
        return false;
    const unsigned count = constant_count(in, 2);
    const struct rp_src a = source(t, in, 0), b = source(t, in, 1);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        rp_vshift(t, RP_X86_VPSRLD_IMM, d + q, rp_src_rm(t, &b, q), count);
        rp_vshift(t, RP_X86_VPSLLD_IMM, RP_ZMM_TEMP, rp_src_rm(t, &a, q), 32 - count);
        rp_v3(t, RP_X86_VPORD, d + q, d + q, rp_reg(RP_ZMM_TEMP));
    }
    return finish(t, in, d);
}

/* ---- three sources ---- */

WRITER(twice)
{
    const struct rp_src a = source(t, in, 0), b = source(t, in, 1), c = source(t, in, 2);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        rp_v3(t, row->vop, d + q, rp_src_reg(t, &a, q), rp_src_rm(t, &b, q));
        rp_v3(t, row->vop2, d + q, d + q, rp_src_rm(t, &c, q));
    }
    return finish(t, in, d);
}

/* v_bfi_b32: a ? b : c, by bits. */
WRITER(bit_select)
{
    (void)row;
    const struct rp_src a = source(t, in, 0), b = source(t, in, 1), c = source(t, in, 2);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        copy(t, d + q, rp_src_rm(t, &a, q));
        rp_x86_v(&t->x86, RP_X86_VPTERNLOGD, RP_ALL, d + q, rp_src_reg(t, &b, q),
                 rp_src_rm(t, &c, q), 0xca);
    }
    return finish(t, in, d);
}

WRITER(mul_u24)
{
    const bool sum = row->imm;
    const struct rp_src a = source(t, in, 0), b = source(t, in, 1);
    const struct rp_src c = sum ? source(t, in, 2) : a;
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        const unsigned x = low_bits(t, &a, q, 0xffffff), y = low_bits(t, &b, q, 0xffffff);
        rp_v3(t, RP_X86_VPMULLD, d + q, x, rp_reg(y));
        if (sum)
            rp_v3(t, RP_X86_VPADDD, d + q, d + q, rp_src_rm(t, &c, q));
    }
    return finish(t, in, d);
}

static void signed24(struct rp_jit_translation *t, unsigned to, const struct rp_src *s, unsigned q)
{
    rp_vshift(t, RP_X86_VPSLLD_IMM, to, rp_src_rm(t, s, q), 8);
    rp_vshift(t, RP_X86_VPSRAD_IMM, to, rp_reg(to), 8);
}

WRITER(mul_i24)
{
    const bool sum = row->imm;
    const struct rp_src a = source(t, in, 0), b = source(t, in, 1);
    const struct rp_src c = sum ? source(t, in, 2) : a;
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        signed24(t, RP_ZMM_TEMP, &a, q);
        signed24(t, RP_ZMM_TEMP2, &b, q);
        rp_v3(t, RP_X86_VPMULLD, d + q, RP_ZMM_TEMP, rp_reg(RP_ZMM_TEMP2));
        if (sum)
            rp_v3(t, RP_X86_VPADDD, d + q, d + q, rp_src_rm(t, &c, q));
    }
    return finish(t, in, d);
}

WRITER(fused)
{
    (void)row;
    struct rp_src a = rp_src_signed(t, in, 0), b = rp_src_signed(t, in, 1);
    struct rp_src c = rp_src_signed(t, in, 2);
    const bool neg_product = a.neg ^ b.neg, neg_sum = c.neg;
    a.neg = b.neg = c.neg = false;
    rp_src_settle(t, &a);
    rp_src_settle(t, &b);
    rp_src_settle(t, &c);
    /* An accumulator stays where it is: when the block is left, memory still has the old one. */
    const bool in_place = c.kind == RP_SRC_SLOT && !c.abs && in->src[2].index == in->dst.index;
    const unsigned d = in_place ? c.reg : rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        if (!in_place)
            copy(t, d + q, rp_src_rm(t, &c, q));
        rp_write_fma(t, d + q, rp_src_reg(t, &a, q), rp_src_rm(t, &b, q), neg_product, neg_sum);
    }
    rp_leave_nan(t, d);
    return finish(t, in, d);
}

/* Scales where its mask says so, which is seldom, and the interpreter's. */
WRITER(div_fmas)
{
    if (in->src[3].kind != RP_OPND_SGPR || in->src[3].index + 1u >= RP_SGPR_COUNT)
        return false;
    rp_x86_alu_imm(&t->x86, true, RP_CMP, rp_jit_sgpr(in->src[3].index), 0);
    rp_jit_leave(t, rp_x86_jcc(&t->x86, RP_CC_NE));
    return rp_write_fused(t, in, row);
}

/* ---- lane masks ---- */

static void rp_store_lane_masks(struct rp_jit_translation *t, const struct rp_opnd *to)
{
    struct rp_x86 *e = &t->x86;
    rp_x86_k(e, RP_X86_KUNPCKWD, 0, 1, rp_reg(0));
    rp_x86_k(e, RP_X86_KUNPCKWD, 2, 3, rp_reg(2));
    rp_x86_k(e, RP_X86_KUNPCKDQ, 0, 2, rp_reg(0));
    if (!t->masked) {
        rp_x86_k(e, RP_X86_KMOVQ_STORE, 0, 0, rp_jit_sgpr(to->index));
        return;
    }
    rp_x86_k(e, RP_X86_KMOVQ_TO_REG, RP_RAX, 0, rp_reg(0));
    rp_x86_alu(e, true, RP_AND, RP_RAX, rp_jit_exec());
    rp_x86_store(e, true, rp_jit_sgpr(to->index), RP_RAX);
}

static bool is_pair(const struct rp_opnd *o)
{
    return o->kind == RP_OPND_SGPR && o->index + 1u < RP_SGPR_COUNT;
}

WRITER(compare)
{
    if (!is_pair(&in->sdst))
        return false;
    const struct rp_src a = source(t, in, 0), b = source(t, in, 1);
    for (unsigned q = 0; q < 4; q++) {
        const unsigned x = rp_src_reg(t, &a, q);
        rp_x86_v(&t->x86, (enum rp_x86_vop)row->vop, RP_ALL, q, x, rp_src_rm(t, &b, q), row->imm);
    }
    rp_store_lane_masks(t, &in->sdst);
    return true;
}

/* 16 lanes' bits of a pair. */
static void load_mask(struct rp_jit_translation *t, unsigned k, const struct rp_opnd *o, unsigned q)
{
    struct rp_rm at = rp_jit_sgpr(o->index);
    at.disp += (int32_t)(2 * q);
    rp_x86_k(&t->x86, RP_X86_KMOVW_LOAD, k, 0, at);
}

WRITER(choose)
{
    (void)row;
    if (!is_pair(&in->src[3]))
        return false;
    const struct rp_src a = source(t, in, 0), b = source(t, in, 1);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        load_mask(t, 1 + q % 3, &in->src[3], q);
        const unsigned x = rp_src_reg(t, &a, q);
        rp_x86_v(&t->x86, RP_X86_VPBLENDMD, RP_MERGE(1 + q % 3), d + q, x, rp_src_rm(t, &b, q), 0);
    }
    return finish(t, in, d);
}

/* Adds carry when the sum is below a source; differences when the first is below the second. */
WRITER(carry)
{
    const bool swapped = row->imm;
    if (!is_pair(&in->sdst))
        return false;
    const struct rp_src a = source(t, in, swapped), b = source(t, in, !swapped);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        const unsigned x = rp_src_reg(t, &a, q);
        const struct rp_rm y = rp_src_rm(t, &b, q);
        rp_v3(t, row->vop, d + q, x, y);
        if (row->vop == RP_X86_VPADDD)
            rp_x86_v(&t->x86, RP_X86_VPCMPUD, RP_ALL, q, d + q, rp_reg(x), CMP_LT);
        else
            rp_x86_v(&t->x86, RP_X86_VPCMPUD, RP_ALL, q, x, y, CMP_LT);
    }
    finish(t, in, d);
    rp_store_lane_masks(t, &in->sdst);
    return true;
}

/* K0 = carry out of 16 lanes with K1 carried in; the result in @p d. */
static void carry_quarter(struct rp_jit_translation *t, const struct rp_valu_row *row, unsigned d,
                          unsigned x, struct rp_rm y)
{
    struct rp_x86 *e = &t->x86;
    const struct rp_mask carried = {.k = 1, .broadcast = true};
    const unsigned s = RP_ZMM_TEMP;
    rp_v3(t, row->vop, s, x, y);
    if (row->vop == RP_X86_VPADDD) {
        rp_x86_v(e, RP_X86_VPCMPUD, RP_ALL, 0, s, rp_reg(x), CMP_LT);
        rp_x86_v(e, RP_X86_VPCMPUD, carried, 2, s, rp_jit_constant(t, ~0u), CMP_EQ);
    } else {
        rp_x86_v(e, RP_X86_VPCMPUD, RP_ALL, 0, x, y, CMP_LT);
        rp_x86_v(e, RP_X86_VPCMPUD, RP_MERGE(1), 2, x, y, CMP_EQ);
    }
    rp_x86_k(e, RP_X86_KORW, 0, 0, rp_reg(2));
    copy(t, d, rp_reg(s));
    rp_x86_v(e, (enum rp_x86_vop)row->vop2, carried, d, s, rp_jit_constant(t, ~0u), 0);
}

WRITER(with_carry)
{
    struct rp_x86 *e = &t->x86;
    if (!is_pair(&in->sdst) || !is_pair(&in->src[3]))
        return false;
    const struct rp_src a = source(t, in, 0), b = source(t, in, 1);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 4; q-- > 0;) { /* the last lanes first: RDX collects bits from the top */
        load_mask(t, 1, &in->src[3], q);
        const unsigned x = rp_src_reg(t, &a, q);
        carry_quarter(t, row, d + q, x, rp_src_rm(t, &b, q));
        rp_x86_k(e, RP_X86_KMOVW_TO_REG, q == 3 ? RP_RDX : RP_RAX, 0, rp_reg(0));
        if (q == 3)
            continue;
        rp_x86_shift_imm(e, true, RP_SHL, RP_RDX, 16);
        rp_x86_alu(e, true, RP_OR, RP_RDX, rp_reg(RP_RAX));
    }
    finish(t, in, d);
    if (t->masked)
        rp_x86_alu(e, true, RP_AND, RP_RDX, rp_jit_exec());
    rp_x86_store(e, true, rp_jit_sgpr(in->sdst.index), RP_RDX);
    return true;
}

/* Which vector instructions are translated. */

static const struct rp_valu_row rows[] = {
#define RP_JIT_V(name, function, vop, vop2, imm)                                                   \
    {RP_OP_##name, vop, vop2, imm, rp_write_##function},
#include "device/jit/jit_valu.def"
};

static bool writes_signs(const struct rp_valu_row *row)
{
    static rp_valu_write_fn *const all[] = {rp_write_float1, rp_write_float2, rp_write_fused,
                                            rp_write_range,  rp_write_packed, rp_write_packed_half2,
                                            rp_write_double2};
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        if (row->write == all[i])
            return true;
    return row->write == rp_write_compare && row->vop == RP_X86_VCMPPS;
}

static bool has_usual_operands(const struct rp_insn *in)
{
    if (in->dst.kind != RP_OPND_VGPR && in->dst.kind != RP_OPND_NONE)
        return false;
    for (unsigned i = 0; i < 3; i++)
        if (in->src[i].kind != RP_OPND_NONE && in->src[i].kind != RP_OPND_VGPR &&
            in->src[i].kind != RP_OPND_SGPR && in->src[i].kind != RP_OPND_CONST)
            return false;
    return true;
}

/* Whether its modifiers are those that a writer knows: none; neg and abs of floats; op_sel and neg
 * of packed ones. Instructions that the decoder refuses have no lane kernel. */
static bool has_known_modifiers(const struct rp_insn *in, const struct rp_valu_row *row)
{
    if (!in->lane)
        return false;
    if (row->write == rp_write_mix)
        return !(in->flags & RP_IF_CLAMP);
    if (!(in->flags & (RP_IF_SRCMOD | RP_IF_DSTMOD | RP_IF_DPP | RP_IF_SDWA)))
        return true;
    const bool packed_f16 =
        in->fmt == RP_FMT_VOP3P && in->dst.type == RP_T_PKF16 && !(in->flags & RP_IF_DSTMOD);
    return writes_signs(row) &&
           (rp_valu_only_packed_f32(in) || packed_f16 || rp_valu_only_signs(in));
}

static const struct rp_valu_row *find(const struct rp_insn *in)
{
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].op == in->op)
            return has_usual_operands(in) && has_known_modifiers(in, &rows[i]) ? &rows[i] : NULL;
    return NULL;
}

bool rp_jit_valu_knows(const struct rp_insn *in)
{
    return find(in) || rp_write_cross_knows(in);
}

bool rp_jit_valu(struct rp_jit_translation *t, const struct rp_insn *in)
{
    const struct rp_valu_row *row = find(in);
    return row ? row->write(t, in, row) : rp_write_cross(t, in);
}
