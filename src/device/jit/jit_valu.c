/* This file translates vector instructions of one dword per lane, of halves and of two dwords, and
 * moves. All results are known before the first is stored. A NaN, for which the processor has
 * other rules, leaves the instruction to the interpreter.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/isa/valu.h"
#include "device/jit/jit_block.h"

#define RP_ZERO(n) ((struct rp_mask){(uint8_t)(n), true, false})

/* These are conditions of VPCMP. */
enum { CMP_EQ = 0, CMP_LT = 1 };

/* These are conditions of VCMPPS. */
enum { CMP_ORD_Q = 0x07, CMP_GE_OQ = 0x1d, CMP_GT_OQ = 0x1e, CMP_UNORD_Q = 0x03 };

struct row;

/** Writes the instruction; false: nothing written, its handler has to do it. */
typedef bool write_fn(struct rp_jit_translation *t, const struct rp_insn *in,
                      const struct row *row);

/** This is a row of jit_valu.def. */
struct row {
    uint16_t op;        /**< enum rp_op */
    uint16_t vop, vop2; /**< enum rp_x86_vop */
    uint8_t imm;
    write_fn *write;
};

#define WRITER(name)                                                                               \
    static bool write_##name(struct rp_jit_translation *t, const struct rp_insn *in,               \
                             const struct row *row)

static void compare_nan(struct rp_jit_translation *t, unsigned k, unsigned a, unsigned b)
{
    rp_x86_v(&t->x86, RP_X86_VCMPPS, RP_ALL, k, a, rp_reg(b), CMP_UNORD_Q);
}

/* Leaves the instruction to the interpreter when K0 to K3 name a lane that is on. */
static void leave_lanes(struct rp_jit_translation *t)
{
    for (unsigned q = 0; q < 4 && t->masked; q++)
        rp_x86_k(&t->x86, RP_X86_KANDNW, q, 4 + q, rp_reg(q));
    rp_x86_k(&t->x86, RP_X86_KORW, 0, 0, rp_reg(1));
    rp_x86_k(&t->x86, RP_X86_KORW, 2, 2, rp_reg(3));
    rp_x86_k(&t->x86, RP_X86_KORTESTW, 0, 0, rp_reg(2));
    rp_jit_leave(t, rp_x86_jcc(&t->x86, RP_CC_NE));
}

/* Leaves translated code when there is a NaN in the results at @p reg. */
static void leave_nan(struct rp_jit_translation *t, unsigned reg)
{
    compare_nan(t, 1, reg, reg + 1);
    compare_nan(t, 2, reg + 2, reg + 3);
    rp_x86_k(&t->x86, RP_X86_KORTESTW, 1, 0, rp_reg(2));
    if (!t->masked) {
        rp_jit_leave(t, rp_x86_jcc(&t->x86, RP_CC_NE));
        return;
    }
    /* Lanes that are off often hold a NaN for long, so this looks at the active lanes. */
    const size_t none = rp_x86_jcc(&t->x86, RP_CC_E);
    for (unsigned q = 0; q < 4; q++)
        compare_nan(t, q, reg + q, reg + q);
    leave_lanes(t);
    rp_x86_land(&t->x86, none, t->x86.bytes);
}

/* Does the same for two rows. */
static void leave_nan2(struct rp_jit_translation *t, unsigned reg, unsigned other)
{
    for (unsigned q = 0; q < 4; q++)
        compare_nan(t, q, reg + q, other + q);
    leave_lanes(t);
}

/* Converts two registers of 16 f32 to f16, one in each dword. */
static void narrow(struct rp_jit_translation *t, unsigned to, unsigned from)
{
    enum { NEAREST_NO_EXCEPTIONS = 8 };
    rp_x86_v(&t->x86, RP_X86_VCVTPS2PH, RP_ALL, from, 0, rp_reg(to), NEAREST_NO_EXCEPTIONS);
    rp_x86_v(&t->x86, RP_X86_VPMOVZXWD, RP_ALL, to, 0, rp_reg(to), 0);
}

/* Computes to = a * b + to in f32, with signs of the product and the sum. */
static void write_fma(struct rp_jit_translation *t, unsigned to, unsigned a, struct rp_rm b,
                      bool neg_product, bool neg_sum)
{
    static const enum rp_x86_vop ops[2][2] = {{RP_X86_VFMADD231PS, RP_X86_VFMSUB231PS},
                                              {RP_X86_VFNMADD231PS, RP_X86_VFNMSUB231PS}};
    rp_v3(t, ops[neg_product][neg_sum], to, a, b);
}

/* Does the same with the instruction's neg and abs. */
static struct rp_src signed_source(struct rp_jit_translation *t, const struct rp_insn *in,
                                   unsigned i)
{
    struct rp_src s = rp_src(t, in, i, 0);
    s.neg = in->neg >> i & 1;
    s.abs = in->abs >> i & 1;
    return s;
}

static struct rp_src source(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i)
{
    struct rp_src s = signed_source(t, in, i);
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
    leave_nan(t, d);
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

/* Converts toward zero. NaN gives 0, and a value that is too large gives the end of the range. */
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
        leave_nan(t, d);
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

/* Computes minimum and maximum. The handler does it if there is a NaN among the sources, because
 * the processor treats those differently.
 */
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
    leave_lanes(t);
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

/* Returns a quarter of a source of counts, reduced to @p keep. */
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

/* Computes d = op(a << b, c). */
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

/* Computes v_bfe_u32: (a >> b) without the bits from the c-th on. */
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

/* Computes the low dword of a:b >> c. The handler does it if the count is not a constant. */
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

/* Computes v_bfi_b32: a ? b : c, by bits. */
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
    struct rp_src a = signed_source(t, in, 0), b = signed_source(t, in, 1);
    struct rp_src c = signed_source(t, in, 2);
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
        write_fma(t, d + q, rp_src_reg(t, &a, q), rp_src_rm(t, &b, q), neg_product, neg_sum);
    }
    leave_nan(t, d);
    return finish(t, in, d);
}

/* Scales where its mask says so, which is seldom, and the interpreter's. */
WRITER(div_fmas)
{
    if (in->src[3].kind != RP_OPND_SGPR || in->src[3].index + 1u >= RP_SGPR_COUNT)
        return false;
    rp_x86_alu_imm(&t->x86, true, RP_CMP, rp_jit_sgpr(in->src[3].index), 0);
    rp_jit_leave(t, rp_x86_jcc(&t->x86, RP_CC_NE));
    return write_fused(t, in, row);
}

/* ---- lane masks ---- */

static void store_lane_masks(struct rp_jit_translation *t, const struct rp_opnd *to)
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
    store_lane_masks(t, &in->sdst);
    return true;
}

/* Loads the bits of 16 lanes from a pair. */
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

/* A sum carries when it is below a source; a difference borrows when the first source is below the
 * second.
 */
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
    store_lane_masks(t, &in->sdst);
    return true;
}

/* Computes the carry out of 16 lanes into K0, with K1 carried in; the result goes to @p d. */
static void carry_quarter(struct rp_jit_translation *t, const struct row *row, unsigned d,
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
    /* The last lanes come first, because RDX collects bits from the top. */
    for (unsigned q = 4; q-- > 0;) {
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

/* ---- f16: computed in f32 and rounded ---- */
WRITER(to_f16)
{
    (void)row;
    struct rp_src a = signed_source(t, in, 0);
    rp_src_settle(t, &a);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++)
        narrow(t, d + q, rp_src_reg(t, &a, q));
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

/* Returns the f16 of source @p i for the low or high result. */
static struct rp_src half_source(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i,
                                 bool high)
{
    if (!(in->flags & RP_IF_SRCMOD))
        return rp_src_half(t, in, i, high);
    struct rp_src s = rp_src_half(t, in, i, (high ? in->op_sel_hi : in->op_sel) >> i & 1);
    s.neg = (high ? in->abs : in->neg) >> i & 1; /* In packed instructions abs means neg_hi. */
    rp_src_settle(t, &s);
    return s;
}

/* Converts two f16, of the low or high halves, to an f32 that is not rounded yet, without NaN. */
static unsigned halves(struct rp_jit_translation *t, const struct rp_insn *in,
                       const struct row *row, bool high)
{
    const bool reversed = row->imm;
    const struct rp_src a = half_source(t, in, reversed, high);
    const struct rp_src b = half_source(t, in, !reversed, high);
    const unsigned d = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        const unsigned x = rp_src_reg(t, &a, q);
        rp_v3(t, row->vop, d + q, x, rp_src_rm(t, &b, q));
    }
    leave_nan(t, d);
    return d;
}

WRITER(half2)
{
    const unsigned d = halves(t, in, row, false);
    for (unsigned q = 0; q < 4; q++)
        narrow(t, d + q, d + q);
    rp_result_store(t, d, in->dst.index);
    return true;
}

WRITER(packed_half2)
{
    const unsigned lo = halves(t, in, row, false);
    t->pinned = 1u << lo / 4;
    const unsigned hi = halves(t, in, row, true);
    for (unsigned q = 0; q < 4; q++) {
        narrow(t, lo + q, lo + q);
        narrow(t, hi + q, hi + q);
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
        narrow(t, d + q, d + q);
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
        write_fma(t, d + q, x, rp_src_rm(t, &b, q), neg_product, neg_sum);
    }
    leave_nan(t, d);
    if (row->imm)
        place(t, in, d, row->imm == RP_HIGH_HALF);
    rp_result_store(t, d, in->dst.index);
    return true;
}

/* ---- 64 bits ---- */

/* The dwords of a value are in two rows; they are put together in
 * the order that unpacking within 128 bits gives, and taken apart in the same.
 */

/* This has both dwords of a source, or, where all lanes have the same value, the value itself in
 * lo.
 */
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

/* Joins 8 of a quarter's 16 values in a register. */
static unsigned joined(struct rp_jit_translation *t, const struct source64 *s, unsigned q,
                       bool second, unsigned to)
{
    if (s->lo.kind == RP_SRC_SCALAR)
        return s->lo.reg;
    const unsigned lo = rp_src_reg(t, &s->lo, q);
    rp_v3(t, second ? RP_X86_VPUNPCKHDQ : RP_X86_VPUNPCKLDQ, to, lo, rp_src_rm(t, &s->hi, q));
    return to;
}

/* Separates the dwords of the values in TEMP and TEMP2. */
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
    leave_lanes(t);
    rp_x86_land(&t->x86, none, t->x86.bytes);
}

/* Writes v_add_f64 and v_mul_f64, and with an immediate v_fma_f64 and v_fmac_f64. */
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

/* Converts dwords to f64. The halves of 16 lanes stay in their order, so tables separate them. */
WRITER(widen)
{
    struct rp_src a = signed_source(t, in, 0);
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

/* Writes shifts by a constant: to the left, or with an immediate to the right. The operation is
 * then that of the high dword, and the bits that pass from one dword to the other are shifted the
 * other way.
 */
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

/* Computes a quarter of a << count. Without a shift it uses what already exists. */
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

/* This is v_lshl_add_u64 by a constant, as in addresses of array elements. */
WRITER(shift_add64)
{
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
        const struct rp_rm y = rp_src_rm(t, &c, q); /* A row or a scalar needs no register. */
        rp_v3(t, RP_X86_VPADDD, lo + q, x[0], y);
        rp_x86_v(&t->x86, RP_X86_VPCMPUD, RP_ALL, 1, lo + q, y, CMP_LT);
        rp_v3(t, RP_X86_VPADDD, hi + q, x[1], rp_src_rm(t, &c_hi, q));
        rp_x86_v(&t->x86, RP_X86_VPSUBD, carried, hi + q, hi + q, rp_jit_constant(t, ~0u), 0);
    }
    return store64(t, in, lo, hi);
}

/* ---- packed f32: the sources of the low and the high result are chosen by op_sel ---- */

static struct rp_src packed_source(struct rp_jit_translation *t, const struct rp_insn *in,
                                   unsigned i, bool high)
{
    struct rp_src s = rp_src(t, in, i, (high ? in->op_sel_hi : in->op_sel) >> i & 1);
    s.neg = (high ? in->abs : in->neg) >> i & 1; /* In packed instructions abs means neg_hi. */
    return s;
}

static unsigned packed_half(struct rp_jit_translation *t, const struct rp_insn *in,
                            const struct row *row, bool high)
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
        write_fma(t, d + q, x, rp_src_rm(t, &b, q), neg_product, neg_sum);
    }
    return d;
}

WRITER(packed)
{
    const unsigned lo = packed_half(t, in, row, false);
    t->pinned = 1u << lo / 4;
    const unsigned hi = packed_half(t, in, row, true);
    leave_nan2(t, lo, hi);
    rp_result_store(t, lo, in->dst.index);
    rp_result_store(t, hi, in->dst.index + 1u);
    return true;
}

/* ---- moves between lanes, scalars and files ---- */

static bool is_plain(const struct rp_insn *in)
{
    return !(in->flags & (RP_IF_SRCMOD | RP_IF_DSTMOD | RP_IF_DPP | RP_IF_SDWA));
}

static bool is_lane_constant(const struct rp_insn *in)
{
    return in->src[1].kind == RP_OPND_CONST;
}

static bool knows_cross(const struct rp_insn *in)
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

/* Returns the memory operand of a lane's dword in the row of an operand. */
static struct rp_rm lane_at(const struct rp_opnd *o, unsigned lane)
{
    return rp_at(RP_JIT_ROWS, rp_row_disp(o->index, 0) + (int32_t)(4 * lane));
}

static void read_first(struct rp_jit_translation *t, const struct rp_insn *in)
{
    struct rp_x86 *e = &t->x86;
    if (!t->masked) {
        rp_x86_load(e, false, RP_RAX, lane_at(&in->src[0], 0));
    } else { /* Without an active lane TZCNT gives 64, of which 0 remains. */
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

static bool write_cross(struct rp_jit_translation *t, const struct rp_insn *in)
{
    if (!knows_cross(in))
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

/* ---- which are translated ---- */

static const struct row rows[] = {
#define RP_JIT_V(name, function, vop, vop2, imm) {RP_OP_##name, vop, vop2, imm, write_##function},
#include "device/jit/jit_valu.def"
};

static bool writes_signs(const struct row *row)
{
    static write_fn *const all[] = {write_float1, write_float2,       write_fused,  write_range,
                                    write_packed, write_packed_half2, write_double2};
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        if (row->write == all[i])
            return true;
    return row->write == write_compare && row->vop == RP_X86_VCMPPS;
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

/* Tests whether a writer knows the instruction's modifiers: none; neg and abs of floats; op_sel
 * and neg of packed operands. Instructions that the decoder refuses have no lane kernel.
 */
static bool has_known_modifiers(const struct rp_insn *in, const struct row *row)
{
    if (!in->lane)
        return false;
    if (row->write == write_mix)
        return !(in->flags & RP_IF_CLAMP);
    if (!(in->flags & (RP_IF_SRCMOD | RP_IF_DSTMOD | RP_IF_DPP | RP_IF_SDWA)))
        return true;
    const bool packed_f16 =
        in->fmt == RP_FMT_VOP3P && in->dst.type == RP_T_PKF16 && !(in->flags & RP_IF_DSTMOD);
    return writes_signs(row) &&
           (rp_valu_only_packed_f32(in) || packed_f16 || rp_valu_only_signs(in));
}

static const struct row *find(const struct rp_insn *in)
{
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].op == in->op)
            return has_usual_operands(in) && has_known_modifiers(in, &rows[i]) ? &rows[i] : NULL;
    return NULL;
}

bool rp_jit_valu_knows(const struct rp_insn *in)
{
    return find(in) || knows_cross(in);
}

bool rp_jit_valu(struct rp_jit_translation *t, const struct rp_insn *in)
{
    const struct row *row = find(in);
    return row ? row->write(t, in, row) : write_cross(t, in);
}
