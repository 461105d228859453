/*
 * Decoder of every gfx9-family format that gfx942 has.
 *
 * Field positions are those of the AMD CDNA3 ISA guide, chapter "Microcode formats", with the
 * gfx942 changes to FLAT and MUBUF (sc0, sc1, nt, acc) confirmed against LLVM's assembler.
 */
#include <string.h>

#include "../timing/cost.h"
#include "ops.h"

/* Source encodings with a meaning of their own. */
enum {
    SRC_INT_0 = 128,
    SRC_INT_64 = 192,
    SRC_INT_MINUS_16 = 208,
    SRC_APERTURE_FIRST = 235,
    SRC_APERTURE_LAST = 239, /* includes pops_exiting_wave_id */
    SRC_FLOAT_FIRST = 240,   /* 0.5 */
    SRC_FLOAT_LAST = 248,    /* 1/(2 pi) */
    SRC_SDWA = 249,
    SRC_DPP = 250,
    SRC_VCCZ = 251,
    SRC_EXECZ = 252,
    SRC_SCC = 253,
    SRC_LDS_DIRECT = 254,
    SRC_LITERAL = 255,
    SRC_VGPR = 256,
    SGPR_RESERVED = 125,
    SADDR_OFF = 0x7f,
};

struct dec {
    const uint32_t *code;
    size_t dwords;
    struct rp_insn *in;
    const struct rp_op_row *row;
    bool bad;
};

static uint32_t bits(uint32_t word, unsigned low, unsigned count)
{
    return word >> low & ((1u << count) - 1);
}

static int32_t sign_extend(uint32_t value, unsigned width)
{
    return (int32_t)(value << (32 - width)) >> (32 - width);
}

/* Another dword of the instruction; 0 and bad when the program ends before it. */
static uint32_t next_dword(struct dec *d)
{
    unsigned n = d->in->size_bytes / 4;
    if (n >= d->dwords) {
        d->bad = true;
        return 0;
    }
    d->in->raw[n] = d->code[n];
    d->in->size_bytes += 4;
    return d->code[n];
}

static bool set_row(struct dec *d, enum rp_fmt fmt, enum rp_seg seg, unsigned opcode)
{
    d->in->op = (uint16_t)rp_op_find(fmt, seg, opcode);
    d->in->fmt = (uint8_t)fmt;
    d->row = &rp_op_rows[d->in->op];
    d->bad |= d->in->op == RP_OP_INVALID;
    return !d->bad;
}

/* ---- operands ---- */

static struct rp_opnd make_reg(struct dec *d, enum rp_opnd_kind kind, unsigned index, unsigned type)
{
    unsigned n = rp_type_dwords(type);
    unsigned limit = kind == RP_OPND_SGPR ? RP_SGPR_COUNT : 256;
    if (n == 0)
        return (struct rp_opnd){0};
    if (index + n > limit || (kind == RP_OPND_SGPR && index == SGPR_RESERVED))
        d->bad = true;
    return (struct rp_opnd){.kind = (uint8_t)kind,
                            .dwords = (uint8_t)n,
                            .index = (uint8_t)index,
                            .type = (uint8_t)type};
}

/* Scalar groups are aligned; hardware ignores the low bits of a misaligned number. */
static struct rp_opnd make_sgpr(struct dec *d, unsigned index, unsigned type)
{
    const unsigned n = rp_type_dwords(type);
    if (n > 1)
        index &= n == 2 ? ~1u : ~3u;
    return make_reg(d, RP_OPND_SGPR, index, type);
}

static struct rp_opnd make_vgpr(struct dec *d, unsigned index, unsigned type)
{
    return make_reg(d, RP_OPND_VGPR, index, type);
}

static struct rp_opnd make_vector(struct dec *d, bool acc, unsigned index, unsigned type)
{
    return make_reg(d, acc ? RP_OPND_AGPR : RP_OPND_VGPR, index, type);
}

static struct rp_opnd make_const(unsigned type, unsigned enc, uint64_t imm)
{
    return (struct rp_opnd){.kind = RP_OPND_CONST,
                            .dwords = (uint8_t)rp_type_dwords(type),
                            .index = (uint8_t)enc,
                            .type = (uint8_t)type,
                            .imm = imm};
}

/*
 * Inline floats. 16-bit float operands get the f16 pattern, 64-bit operands the f64 pattern, all
 * others the f32 pattern: 16-bit integers, too, of which the lower half is left (AMD's word in LLVM
 * pull request 198005: 1.0 is 0x0000 there on gfx8 and gfx9); packed ones have both halves of it.
 */
static uint64_t inline_float(unsigned enc, unsigned type)
{
    static const uint16_t half[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                    0xc000, 0x4400, 0xc400, 0x3118};
    static const uint32_t single[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                      0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
    static const uint64_t dbl[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                   0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                   0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};
    unsigned i = enc - SRC_FLOAT_FIRST;
    switch (type) {
    case RP_T_F16:
    case RP_T_PKF16:
        return half[i];
    case RP_T_B64:
    case RP_T_U64:
    case RP_T_I64:
    case RP_T_F64:
    case RP_T_B256: /* the accumulator of v_mfma_f64 */
        return dbl[i];
    default:
        return single[i];
    }
}

uint32_t rp_inline_as_f16(const struct rp_opnd *o)
{
    const bool is_float = o->index >= SRC_FLOAT_FIRST && o->index <= SRC_FLOAT_LAST;
    return is_float ? (uint32_t)inline_float(o->index, RP_T_F16) : (uint32_t)o->imm;
}

/* Inline integers are 32-bit two's complement for operands up to 32 bits, else 64-bit. */
static uint64_t inline_int(unsigned enc, unsigned type)
{
    int64_t v = enc <= SRC_INT_64 ? (int64_t)enc - SRC_INT_0 : (int64_t)SRC_INT_64 - (int64_t)enc;
    return rp_type_dwords(type) == 1 || type == RP_T_PKF32 ? (uint32_t)v : (uint64_t)v;
}

/* A 32-bit literal for a 64-bit operand: high half of f64, sign-extended for i64, else unsigned. */
static uint64_t literal(uint32_t word, unsigned type)
{
    if (type == RP_T_F64)
        return (uint64_t)word << 32;
    if (type == RP_T_I64)
        return (uint64_t)(int64_t)(int32_t)word;
    return word;
}

/* 8-bit scalar source, SALU or VALU; a literal is taken from the stream if @p may_literal. */
static struct rp_opnd scalar_source(struct dec *d, unsigned enc, unsigned type, bool may_literal)
{
    if (rp_type_dwords(type) == 0)
        return (struct rp_opnd){0};
    if (enc < SRC_INT_0)
        return make_sgpr(d, enc, type);
    if (enc <= SRC_INT_MINUS_16)
        return make_const(type, enc, inline_int(enc, type));
    if (enc >= SRC_FLOAT_FIRST && enc <= SRC_FLOAT_LAST)
        return make_const(type, enc, inline_float(enc, type));
    if (enc == SRC_LITERAL && may_literal)
        return make_const(type, enc, literal(next_dword(d), type));
    if ((enc >= SRC_APERTURE_FIRST && enc <= SRC_APERTURE_LAST) ||
        (enc >= SRC_VCCZ && enc <= SRC_LDS_DIRECT))
        return (struct rp_opnd){.kind = RP_OPND_SPECIAL,
                                .dwords = (uint8_t)rp_type_dwords(type),
                                .index = (uint8_t)enc,
                                .type = (uint8_t)type};
    d->bad = true;
    return (struct rp_opnd){0};
}

/* 9-bit vector source. */
static struct rp_opnd vector_source(struct dec *d, unsigned enc, unsigned type, bool may_literal)
{
    if (enc >= SRC_VGPR)
        return make_vgpr(d, enc - SRC_VGPR, type);
    return scalar_source(d, enc, type, may_literal);
}

/* ---- scalar ALU ---- */

static void decode_sop2(struct dec *d, uint32_t w)
{
    if (!set_row(d, RP_FMT_SOP2, 0, bits(w, 23, 7)))
        return;
    d->in->dst = make_sgpr(d, bits(w, 16, 7), d->row->dst);
    d->in->src[0] = scalar_source(d, bits(w, 0, 8), d->row->src[0], true);
    /* Two literal operands share one literal dword. */
    if (bits(w, 0, 8) == SRC_LITERAL && bits(w, 8, 8) == SRC_LITERAL)
        d->in->src[1] =
            make_const(d->row->src[1], SRC_LITERAL, literal(d->in->raw[1], d->row->src[1]));
    else
        d->in->src[1] = scalar_source(d, bits(w, 8, 8), d->row->src[1], true);
}

static void decode_sop1(struct dec *d, uint32_t w)
{
    if (!set_row(d, RP_FMT_SOP1, 0, bits(w, 8, 8)))
        return;
    d->in->dst = make_sgpr(d, bits(w, 16, 7), d->row->dst);
    d->in->src[0] = scalar_source(d, bits(w, 0, 8), d->row->src[0], true);
}

static void decode_sopc(struct dec *d, uint32_t w)
{
    if (!set_row(d, RP_FMT_SOPC, 0, bits(w, 16, 7)))
        return;
    d->in->src[0] = scalar_source(d, bits(w, 0, 8), d->row->src[0], true);
    if (d->in->op == RP_OP_s_set_gpr_idx_on) {
        d->in->src[1] = make_const(RP_T_B32, 0, bits(w, 8, 8)); /* an enable mask, not a register */
        d->bad |= bits(w, 8, 8) > 15;
    } else if (bits(w, 0, 8) == SRC_LITERAL && bits(w, 8, 8) == SRC_LITERAL) {
        d->in->src[1] =
            make_const(d->row->src[1], SRC_LITERAL, literal(d->in->raw[1], d->row->src[1]));
    } else {
        d->in->src[1] = scalar_source(d, bits(w, 8, 8), d->row->src[1], true);
    }
}

static void decode_sopk(struct dec *d, uint32_t w)
{
    if (!set_row(d, RP_FMT_SOPK, 0, bits(w, 23, 5)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    unsigned sdst = bits(w, 16, 7);
    in->offset = sign_extend(w, 16);
    struct rp_opnd imm =
        make_const(RP_T_I32, 0, row->src[1] == RP_T_U32 ? bits(w, 0, 16) : (uint32_t)in->offset);
    in->dst = make_sgpr(d, sdst, row->dst);
    if (in->op == RP_OP_s_setreg_imm32_b32) {
        in->src[0] = make_const(RP_T_B32, SRC_LITERAL, next_dword(d));
    } else if (row->src[1] != RP_T_NONE) {
        in->src[0] = make_sgpr(d, sdst, row->src[0]);
        in->src[1] = imm;
    } else if (row->dst != RP_T_NONE && row->src[0] != RP_T_NONE) {
        in->src[0] = imm;
    } else {
        in->src[0] = make_sgpr(d, sdst, row->src[0]);
    }
}

static void decode_sopp(struct dec *d, uint32_t w)
{
    if (set_row(d, RP_FMT_SOPP, 0, bits(w, 16, 7)))
        d->in->offset = sign_extend(w, 16);
}

static void decode_scalar(struct dec *d, uint32_t w)
{
    switch (bits(w, 23, 7)) { /* below [30]: 0x7d.. are the formats without a destination */
    case 0x7d:
        decode_sop1(d, w);
        break;
    case 0x7e:
        decode_sopc(d, w);
        break;
    case 0x7f:
        decode_sopp(d, w);
        break;
    default:
        if (bits(w, 28, 4) == 0xb)
            decode_sopk(d, w);
        else
            decode_sop2(d, w);
        break;
    }
}

/* ---- vector ALU ---- */

/* Opcodes with op_sel: those gfx9 added with a 16-bit operand, not the "legacy" ones. */
static bool has_op_sel(const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    switch (in->op) {
    case RP_OP_v_mad_legacy_f16:
    case RP_OP_v_mad_legacy_u16:
    case RP_OP_v_mad_legacy_i16:
    case RP_OP_v_fma_legacy_f16:
    case RP_OP_v_div_fixup_legacy_f16:
        return false;
    case RP_OP_v_alignbit_b32:
    case RP_OP_v_alignbyte_b32:
        return true; /* it prints; executing it is refused (valu.c) */
    default:
        return row->fmt == RP_FMT_VOP3 &&
               (rp_type_is_16bit(row->dst) || rp_type_is_16bit(row->src[0]));
    }
}

/* neg and abs mean something for floats, and for the halves of a select. */
static unsigned float_sources(const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    unsigned mask = in->op == RP_OP_v_cndmask_b32 ? 3 : 0;
    for (unsigned i = 0; i < 3; i++) {
        const unsigned t = row->src[i];
        if (t == RP_T_F16 || t == RP_T_F32 || t == RP_T_F64 || t == RP_T_PKF16 || t == RP_T_PKF32)
            mask |= 1u << i;
    }
    return mask;
}

/* Second dword of an SDWA instruction; @p src1 is the VGPR field of the first. */
static void decode_sdwa(struct dec *d, unsigned src1, bool compare)
{
    struct rp_insn *in = d->in;
    uint32_t w = next_dword(d);
    in->flags |= RP_IF_SDWA | RP_IF_SRCMOD;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t b = w >> (16 + 8 * i);
        unsigned enc = i == 0 ? bits(w, 0, 8) : src1;
        in->src_sel[i] = (uint8_t)bits(b, 0, 3);
        in->sdwa_sext |= (uint8_t)(bits(b, 3, 1) << i);
        in->neg |= (uint8_t)((bits(b, 4, 1) << i) & float_sources(in));
        in->abs |= (uint8_t)((bits(b, 5, 1) << i) & float_sources(in));
        d->bad |= d->row->src[i] != RP_T_NONE && in->src_sel[i] > 6;
        in->src[i] = bits(b, 7, 1) ? scalar_source(d, enc, d->row->src[i], false)
                                   : make_vgpr(d, enc, d->row->src[i]);
    }
    if (compare) {
        if (bits(w, 15, 1))
            in->sdst = make_sgpr(d, bits(w, 8, 7), RP_T_MASK);
        return;
    }
    in->dst_sel = (uint8_t)bits(w, 8, 3);
    in->dst_unused = (uint8_t)bits(w, 11, 2);
    d->bad |= in->dst_sel > 6 || in->dst_unused > 2;
    in->omod = (uint8_t)bits(w, 14, 2);
    in->flags |= RP_IF_DSTMOD | (bits(w, 13, 1) ? RP_IF_CLAMP : 0);
}

static void decode_dpp(struct dec *d, unsigned src1)
{
    struct rp_insn *in = d->in;
    uint32_t w = next_dword(d);
    in->flags |= RP_IF_DPP | RP_IF_SRCMOD;
    in->src[0] = make_vgpr(d, bits(w, 0, 8), d->row->src[0]);
    in->src[1] = make_vgpr(d, src1, d->row->src[1]);
    in->dpp_ctrl = (uint16_t)bits(w, 8, 9);
    in->bound_ctrl = (uint8_t)bits(w, 19, 1);
    in->neg = (uint8_t)((bits(w, 20, 1) | bits(w, 22, 1) << 1) & float_sources(in));
    in->abs = (uint8_t)((bits(w, 21, 1) | bits(w, 23, 1) << 1) & float_sources(in));
    in->bank_mask = (uint8_t)bits(w, 24, 4);
    in->row_mask = (uint8_t)bits(w, 28, 4);
}

/* Sources of VOP1, VOP2 and VOPC: src0 may be a literal, SDWA or DPP. */
static void decode_vop_sources(struct dec *d, uint32_t w, bool has_src1, bool compare)
{
    unsigned enc = bits(w, 0, 9);
    unsigned src1 = has_src1 ? bits(w, 9, 8) : 0;
    if (enc == SRC_SDWA) {
        decode_sdwa(d, src1, compare);
        return;
    }
    if (enc == SRC_DPP) {
        decode_dpp(d, src1);
        return;
    }
    d->in->src[0] = vector_source(d, enc, d->row->src[0], true);
    d->in->src[1] = make_vgpr(d, src1, d->row->src[1]);
}

static void decode_vopc(struct dec *d, uint32_t w)
{
    if (!set_row(d, RP_FMT_VOPC, 0, bits(w, 17, 8)))
        return;
    d->in->sdst = make_sgpr(d, RP_SGPR_VCC_LO, d->row->sdst);
    decode_vop_sources(d, w, true, true);
}

static void decode_vop1(struct dec *d, uint32_t w)
{
    if (!set_row(d, RP_FMT_VOP1, 0, bits(w, 9, 8)))
        return;
    unsigned vdst = bits(w, 17, 8);
    decode_vop_sources(d, w, false, false);
    if (d->in->op == RP_OP_v_readfirstlane_b32) {
        d->in->dst = make_sgpr(d, vdst, d->row->dst);
    } else if (d->in->op == RP_OP_v_accvgpr_mov_b32) {
        d->bad |= d->in->src[0].kind != RP_OPND_VGPR;
        d->in->dst = make_vector(d, true, vdst, d->row->dst);
        d->in->src[0] = make_vector(d, true, d->in->src[0].index, d->row->src[0]);
    } else {
        d->in->dst = make_vgpr(d, vdst, d->row->dst);
    }
}

static void decode_vop2(struct dec *d, uint32_t w)
{
    if (!set_row(d, RP_FMT_VOP2, 0, bits(w, 25, 6)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    in->dst = make_vgpr(d, bits(w, 17, 8), row->dst);
    in->sdst = make_sgpr(d, RP_SGPR_VCC_LO, row->sdst);
    in->src[3] = make_sgpr(d, RP_SGPR_VCC_LO, row->src[3]);
    switch (in->op) {
    case RP_OP_v_fmamk_f32:
    case RP_OP_v_madmk_f16: /* d = s0 * K + s1: K becomes src[1] */
    case RP_OP_v_fmaak_f32:
    case RP_OP_v_madak_f16: { /* d = s0 * s1 + K: K becomes src[2] */
        bool k_last = in->op == RP_OP_v_fmaak_f32 || in->op == RP_OP_v_madak_f16;
        unsigned enc = bits(w, 0, 9);
        uint32_t k = next_dword(d);
        d->bad |= enc == SRC_SDWA || enc == SRC_DPP;
        in->src[0] = enc == SRC_LITERAL ? make_const(row->src[0], SRC_LITERAL, k)
                                        : vector_source(d, enc, row->src[0], false);
        in->src[k_last ? 1 : 2] = make_vgpr(d, bits(w, 9, 8), row->src[1]);
        in->src[k_last ? 2 : 1] = make_const(row->src[2], SRC_LITERAL, k);
        break;
    }
    default:
        decode_vop_sources(d, w, true, false);
        if (row->src[2] != RP_T_NONE) /* accumulates into its destination */
            in->src[2] = make_vgpr(d, in->dst.index, row->src[2]);
        break;
    }
}

static void vop3_modifiers(struct dec *d, uint32_t w0, uint32_t w1, bool b_form)
{
    struct rp_insn *in = d->in;
    const unsigned floats = float_sources(in);
    in->neg = (uint8_t)(bits(w1, 29, 3) & floats);
    in->omod = (uint8_t)bits(w1, 27, 2);
    if (bits(w0, 15, 1))
        in->flags |= RP_IF_CLAMP | RP_IF_DSTMOD;
    if (!b_form) {
        in->abs = (uint8_t)(bits(w0, 8, 3) & floats);
        in->op_sel = has_op_sel(in) ? (uint8_t)bits(w0, 11, 4) : 0;
    }
    if (in->neg | in->abs | (in->op_sel & 7))
        in->flags |= RP_IF_SRCMOD;
    if (in->omod != 0 || in->op_sel & 8)
        in->flags |= RP_IF_DSTMOD;
}

/* What the 8-bit destination field of VOP3 names depends on the row. */
static void vop3_destination(struct dec *d, uint32_t w0, bool b_form)
{
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    unsigned vdst = bits(w0, 0, 8);
    if (row->fmt == RP_FMT_VOPC) {
        in->sdst = make_sgpr(d, vdst, row->sdst);
    } else if (in->op == RP_OP_v_readlane_b32) {
        in->dst = make_sgpr(d, vdst, row->dst);
    } else {
        in->dst = make_vgpr(d, vdst, row->dst);
        if (b_form)
            in->sdst = make_sgpr(d, bits(w0, 8, 7), row->sdst);
    }
}

/* The truth table sits where abs, neg and omod are otherwise. */
static void bitop3_modifiers(struct dec *d, uint32_t w0, uint32_t w1)
{
    struct rp_insn *in = d->in;
    in->cbsz = (uint8_t)(bits(w1, 27, 2) << 6 | bits(w0, 8, 3) << 3 | bits(w1, 29, 3));
    in->op_sel = (uint8_t)bits(w0, 11, 4);
    d->bad |= bits(w0, 15, 1) || (in->op == RP_OP_v_bitop3_b32 && in->op_sel);
}

static void decode_vop3(struct dec *d, uint32_t w0)
{
    uint32_t w1 = next_dword(d);
    if (d->bad || !set_row(d, RP_FMT_VOP3, 0, bits(w0, 16, 10)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    bool b_form = row->sdst != RP_T_NONE && row->fmt != RP_FMT_VOPC;
    bool accumulates = (row->fmt == RP_FMT_VOP2 || in->op == RP_OP_v_cvt_pkaccum_u8_f32) &&
                       row->src[2] != RP_T_NONE;
    vop3_destination(d, w0, b_form);
    for (unsigned i = 0; i < 3; i++)
        if (!(accumulates && i == 2))
            in->src[i] = vector_source(d, bits(w1, 9 * i, 9), row->src[i], false);
    if (accumulates)
        in->src[2] = make_vgpr(d, in->dst.index, row->src[2]);
    if (row->src[3] == RP_T_MASK)
        in->src[3] = row->src[2] != RP_T_NONE ? make_sgpr(d, RP_SGPR_VCC_LO, RP_T_MASK)
                                              : scalar_source(d, bits(w1, 18, 9), RP_T_MASK, false);
    d->bad |= row->src[3] == RP_T_MASK && bits(w1, 18, 9) >= SRC_VGPR && row->src[2] == RP_T_NONE;
    if (in->op == RP_OP_v_bitop3_b16 || in->op == RP_OP_v_bitop3_b32)
        bitop3_modifiers(d, w0, w1);
    else
        vop3_modifiers(d, w0, w1, b_form);
}

static bool is_mai(unsigned opcode)
{
    return opcode >= 0x3e; /* 0x3e, 0x3f are the xf32 forms, below the 0x40 range of the rest */
}

static void decode_mai(struct dec *d, uint32_t w0, uint32_t w1)
{
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    if (in->op == RP_OP_v_accvgpr_read_b32 || in->op == RP_OP_v_accvgpr_write_b32) {
        bool write = in->op == RP_OP_v_accvgpr_write_b32;
        unsigned enc = bits(w1, 0, 9);
        in->dst = make_vector(d, write, bits(w0, 0, 8), row->dst);
        d->bad |= !write && enc < SRC_VGPR;
        in->src[0] = write ? vector_source(d, enc, row->src[0], false)
                           : make_vector(d, true, enc & 0xff, row->src[0]);
        return;
    }
    bool acc_cd = bits(w0, 15, 1);
    in->cbsz = (uint8_t)bits(w0, 8, 3);
    in->abid = (uint8_t)bits(w0, 11, 4);
    in->blgp = (uint8_t)bits(w1, 29, 3);
    in->dst = make_vector(d, acc_cd, bits(w0, 0, 8), row->dst);
    for (unsigned i = 0; i < 3; i++) {
        unsigned enc = bits(w1, 9 * i, 9);
        bool smfmac_index = i == 2 && row->src[2] == RP_T_B32; /* always a VGPR */
        bool acc = i < 2 ? bits(w1, 27 + i, 1) : acc_cd && !smfmac_index;
        d->bad |= enc < SRC_VGPR && (i < 2 || smfmac_index);
        in->src[i] = enc >= SRC_VGPR ? make_vector(d, acc, enc - SRC_VGPR, row->src[i])
                                     : scalar_source(d, enc, row->src[i], false);
    }
    if (in->src[2].kind == RP_OPND_SGPR || in->src[2].kind == RP_OPND_SPECIAL)
        d->bad = true; /* the accumulator is registers or an inline constant */
}

static void decode_vop3p(struct dec *d, uint32_t w0)
{
    uint32_t w1 = next_dword(d);
    unsigned opcode = bits(w0, 16, 7);
    if (d->bad || !set_row(d, RP_FMT_VOP3P, 0, opcode))
        return;
    if (is_mai(opcode)) {
        decode_mai(d, w0, w1);
        return;
    }
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    unsigned used = 0;
    in->dst = make_vgpr(d, bits(w0, 0, 8), row->dst);
    for (unsigned i = 0; i < 3; i++) {
        in->src[i] = vector_source(d, bits(w1, 9 * i, 9), row->src[i], false);
        used |= (row->src[i] != RP_T_NONE) << i;
    }
    in->op_sel = (uint8_t)bits(w0, 11, 3);
    in->op_sel_hi = (uint8_t)(bits(w1, 27, 2) | bits(w0, 14, 1) << 2);
    in->neg = (uint8_t)bits(w1, 29, 3);
    in->abs = (uint8_t)bits(w0, 8, 3);
    if (used & (in->op_sel | (in->op_sel_hi ^ 7) | in->neg | in->abs))
        in->flags |= RP_IF_SRCMOD;
    if (bits(w0, 15, 1))
        in->flags |= RP_IF_CLAMP | RP_IF_DSTMOD;
}

/* ---- memory ---- */

static void decode_smem(struct dec *d, uint32_t w0)
{
    uint32_t w1 = next_dword(d);
    if (d->bad || !set_row(d, RP_FMT_SMEM, 0, bits(w0, 18, 8)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    unsigned sdata = bits(w0, 6, 7);
    bool imm = bits(w0, 17, 1), soffset_en = bits(w0, 14, 1);
    if (bits(w0, 16, 1))
        in->flags |= RP_IF_SC0;
    in->dst = make_sgpr(d, sdata, row->dst);
    in->src[0] = make_sgpr(d, sdata, row->src[0]);
    in->src[2] = make_sgpr(d, bits(w0, 0, 6) * 2, row->src[2]);
    if (row->src[2] == RP_T_NONE)
        return; /* cache control and clocks have no address */
    if (imm)
        in->offset = sign_extend(w1, 21);
    if (soffset_en || !imm) {
        /* Without IMM the offset field itself names the register unless SOFFSET_EN is set. */
        in->src[1] = make_sgpr(d, soffset_en ? bits(w1, 25, 7) : bits(w1, 0, 7), row->src[1]);
        in->flags |= RP_IF_SOFFSET_EN;
    }
}

static void decode_flat(struct dec *d, uint32_t w0)
{
    uint32_t w1 = next_dword(d);
    enum rp_seg seg = bits(w0, 14, 2);
    if (d->bad || seg == 3 || !set_row(d, RP_FMT_FLAT, seg, bits(w0, 18, 7))) {
        d->bad = true;
        return;
    }
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    unsigned saddr = bits(w1, 16, 7);
    bool acc = bits(w1, 23, 1);
    bool has_saddr = seg != RP_SEG_FLAT && saddr != SADDR_OFF;
    bool has_vaddr = seg != RP_SEG_SCRATCH || bits(w0, 13, 1);
    bool atomic = row->dst != RP_T_NONE && row->src[1] != RP_T_NONE;
    in->seg = (uint8_t)seg;
    in->offset = sign_extend(w0, 13);
    in->flags |= (bits(w0, 16, 1) ? RP_IF_SC0 : 0) | (bits(w0, 17, 1) ? RP_IF_NT : 0) |
                 (bits(w0, 25, 1) ? RP_IF_SC1 : 0);
    if (row->dst == RP_T_NONE && row->src[1] == RP_T_NONE)
        in->flags |= RP_IF_LDS;
    if (has_vaddr) {
        unsigned type = has_saddr ? RP_T_B32 : row->src[0];
        in->src[0] = make_vgpr(d, bits(w1, 0, 8), type);
        in->flags |= RP_IF_VADDR;
    }
    if (has_saddr) {
        in->src[2] = make_sgpr(d, saddr, row->src[2]);
        in->flags |= RP_IF_SADDR;
    }
    in->src[1] = make_vector(d, acc, bits(w1, 8, 8), row->src[1]);
    if (!atomic || in->flags & RP_IF_SC0)
        in->dst = make_vector(d, acc, bits(w1, 24, 8), row->dst);
}

static void decode_ds(struct dec *d, uint32_t w0)
{
    uint32_t w1 = next_dword(d);
    if (d->bad || !set_row(d, RP_FMT_DS, 0, bits(w0, 17, 8)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    bool acc = bits(w0, 25, 1);
    in->offset = (int32_t)bits(w0, 0, 16);
    if (bits(w0, 16, 1))
        in->flags |= RP_IF_GDS;
    in->src[0] = make_vgpr(d, bits(w1, 0, 8), row->src[0]);
    in->src[1] = make_vector(d, acc, bits(w1, 8, 8), row->src[1]);
    in->src[3] = make_vector(d, acc, bits(w1, 16, 8), row->src[3]);
    in->dst = make_vector(d, acc, bits(w1, 24, 8), row->dst);
}

static bool loads_to_lds(unsigned op)
{
    switch (op) {
    case RP_OP_buffer_load_format_x:
    case RP_OP_buffer_load_ubyte:
    case RP_OP_buffer_load_sbyte:
    case RP_OP_buffer_load_ushort:
    case RP_OP_buffer_load_sshort:
    case RP_OP_buffer_load_dword:
        return true;
    default:
        return false;
    }
}

static void decode_mubuf(struct dec *d, uint32_t w0)
{
    uint32_t w1 = next_dword(d);
    if (d->bad || !set_row(d, RP_FMT_MUBUF, 0, bits(w0, 18, 7)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    bool offen = bits(w0, 12, 1), idxen = bits(w0, 13, 1), lds = bits(w0, 16, 1);
    bool acc = bits(w1, 23, 1);
    bool atomic = row->dst != RP_T_NONE && row->src[1] != RP_T_NONE;
    in->flags |= (bits(w0, 14, 1) ? RP_IF_SC0 : 0) | (bits(w0, 15, 1) ? RP_IF_SC1 : 0) |
                 (bits(w0, 17, 1) ? RP_IF_NT : 0);
    if (row->src[2] == RP_T_NONE)
        return; /* cache control */
    in->offset = (int32_t)bits(w0, 0, 12);
    in->flags |= (offen ? RP_IF_OFFEN : 0) | (idxen ? RP_IF_IDXEN : 0) | (lds ? RP_IF_LDS : 0);
    if (offen || idxen) {
        in->src[0] = make_vgpr(d, bits(w1, 0, 8), offen && idxen ? RP_T_B64 : RP_T_B32);
        in->flags |= RP_IF_VADDR;
    }
    in->src[1] = make_vector(d, acc, bits(w1, 8, 8), row->src[1]);
    in->src[2] = make_sgpr(d, bits(w1, 16, 5) * 4, row->src[2]);
    in->src[3] = scalar_source(d, bits(w1, 24, 8), row->src[3], false);
    if (!lds && (!atomic || in->flags & RP_IF_SC0))
        in->dst = make_vector(d, acc, bits(w1, 8, 8), row->dst);
    d->bad |= lds && !loads_to_lds(in->op);
}

static void decode_mtbuf(struct dec *d, uint32_t w0)
{
    uint32_t w1 = next_dword(d);
    if (d->bad || !set_row(d, RP_FMT_MTBUF, 0, bits(w0, 15, 4)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    bool offen = bits(w0, 12, 1), idxen = bits(w0, 13, 1), acc = bits(w1, 23, 1);
    in->flags |= (bits(w0, 14, 1) ? RP_IF_SC0 : 0) | (bits(w1, 21, 1) ? RP_IF_SC1 : 0) |
                 (bits(w1, 22, 1) ? RP_IF_NT : 0);
    in->offset = (int32_t)bits(w0, 0, 12);
    in->cbsz = (uint8_t)bits(w0, 19, 4);
    in->blgp = (uint8_t)bits(w0, 23, 3);
    in->flags |= (offen ? RP_IF_OFFEN : 0) | (idxen ? RP_IF_IDXEN : 0);
    if (offen || idxen) {
        in->src[0] = make_vgpr(d, bits(w1, 0, 8), offen && idxen ? RP_T_B64 : RP_T_B32);
        in->flags |= RP_IF_VADDR;
    }
    in->src[1] = make_vector(d, acc, bits(w1, 8, 8), row->src[1]);
    in->src[2] = make_sgpr(d, bits(w1, 16, 5) * 4, row->src[2]);
    in->src[3] = scalar_source(d, bits(w1, 24, 8), row->src[3], false);
    in->dst = make_vector(d, acc, bits(w1, 8, 8), row->dst);
}

/* ---- the whole ---- */

static void decode_format(struct dec *d, uint32_t w)
{
    if (!(w >> 31)) {
        switch (bits(w, 25, 6)) {
        case 0x3e:
            decode_vopc(d, w);
            break;
        case 0x3f:
            decode_vop1(d, w);
            break;
        default:
            decode_vop2(d, w);
            break;
        }
        return;
    }
    if (bits(w, 30, 2) == 2) {
        decode_scalar(d, w);
        return;
    }
    switch (bits(w, 26, 6)) {
    case 0x30:
        decode_smem(d, w);
        break;
    case 0x34:
        if (bits(w, 23, 3) == 7)
            decode_vop3p(d, w);
        else
            decode_vop3(d, w);
        break;
    case 0x36:
        decode_ds(d, w);
        break;
    case 0x37:
        decode_flat(d, w);
        break;
    case 0x38:
        decode_mubuf(d, w);
        break;
    case 0x3a:
        decode_mtbuf(d, w);
        break;
    default: /* MIMG, EXP, VINTRP: gfx942 has no use for them and the table no rows */
        d->bad = true;
        break;
    }
}

static bool ends_block(const struct rp_insn *in)
{
    switch (in->op) {
    case RP_OP_s_endpgm:
    case RP_OP_s_endpgm_saved:
    case RP_OP_s_barrier:
    case RP_OP_s_sleep:
    case RP_OP_s_sethalt:
    case RP_OP_s_trap:
    case RP_OP_s_sendmsg:
    case RP_OP_s_setpc_b64:
    case RP_OP_s_swappc_b64:
    case RP_OP_s_call_b64:
        return true;
    default:
        return rp_op_rows[in->op].cost == RP_COST_BRANCH;
    }
}

static void note_registers(struct rp_insn *in, const struct rp_opnd *o)
{
    uint16_t top = (uint16_t)(o->index + o->dwords);
    if (o->kind == RP_OPND_VGPR && top > in->vgpr_top)
        in->vgpr_top = top;
    else if (o->kind == RP_OPND_AGPR && top > in->agpr_top)
        in->agpr_top = top;
}

/* pops_exiting_wave_id and LDS direct access are for graphics. */
static bool special_is_supported(unsigned enc)
{
    return enc != SRC_APERTURE_LAST && enc != SRC_LDS_DIRECT;
}

static void finish(struct dec *d)
{
    struct rp_insn *in = d->in;
    in->fn = d->row->fn ? d->row->fn : rp_fault_unimplemented;
    in->cost_class = d->row->cost;
    if (!rp_target_agrees(in->op))
        in->fn = rp_fault_unimplemented;
    if (in->flags & RP_IF_GDS && in->op != RP_OP_ds_gws_init && in->op != RP_OP_ds_gws_barrier)
        in->fn = rp_fault_unimplemented; /* gfx942 has no global data share, only wave sync */
    if (ends_block(in))
        in->flags |= RP_IF_ENDS_BLOCK;
    note_registers(in, &in->dst);
    for (unsigned i = 0; i < 4; i++) {
        note_registers(in, &in->src[i]);
        if (in->src[i].kind == RP_OPND_SPECIAL && !special_is_supported(in->src[i].index))
            in->fn = rp_fault_operand;
    }
    if (in->fn == d->row->fn)
        rp_valu_bind(in);
}

unsigned rp_isa_decode(const uint32_t *code, size_t dwords, struct rp_insn *ret)
{
    struct dec d = {.code = code, .dwords = dwords, .in = ret};
    memset(ret, 0, sizeof *ret);
    ret->fn = rp_fault_illegal;
    uint32_t w = next_dword(&d);
    if (!d.bad)
        decode_format(&d, w);
    if (d.bad) {
        uint32_t first = ret->raw[0];
        memset(ret, 0, sizeof *ret);
        ret->fn = rp_fault_illegal;
        ret->raw[0] = first;
        ret->cost_class = RP_COST_MISC;
        return 0;
    }
    finish(&d);
    return ret->size_bytes;
}
