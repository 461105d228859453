/* Decodes every gfx9-family format that gfx942 and gfx950 have: first the operands (registers,
 * constants, literals, matrices), then the formats. Field positions are those of the AMD CDNA3 ISA
 * guide, chapter "Microcode formats". The gfx942 changes to FLAT and MUBUF (sc0, sc1, nt, acc) were
 * confirmed with LLVM's assembler.
 */

#include <string.h>

#include "device/isa/instruction.h"
#include "device/isa/wave_state.h"

/* This is the VOP3P opcode of the first half of a VOP3PX2 instruction. */
enum { LOAD_SCALES = 0x2c };

struct rp_dec {
    const uint32_t *code;
    size_t dwords;      /**< that may be read at code */
    struct rp_insn *in; /**< what becomes of it */
    const struct rp_op_row *row;
    bool bad; /**< it is no instruction */
};

static inline int32_t sign_extend(uint32_t value, unsigned width)
{
    return (int32_t)(value << (32 - width)) >> (32 - width);
}

/** Returns another dword of the instruction, or 0 and sets bad when the program ends before it. */
static uint32_t dec_dword(struct rp_dec *d)
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

/** Finds the row of an opcode. @return false, and bad is set, when the target has none */
static bool dec_row(struct rp_dec *d, enum rp_fmt fmt, enum rp_seg seg, unsigned opcode)
{
    d->in->op = (uint16_t)rp_op_find(fmt, seg, opcode);
    d->in->fmt = (uint8_t)fmt;
    d->row = &rp_op_rows[d->in->op];
    d->bad |= d->in->op == RP_OP_INVALID;
    return !d->bad;
}

static struct rp_opnd make_reg(struct rp_dec *d, enum rp_opnd_kind kind, unsigned index,
                               unsigned type)
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

/** Scalar groups are aligned; hardware ignores the low bits of a misaligned number. */
static struct rp_opnd dec_sgpr(struct rp_dec *d, unsigned index, unsigned type)
{
    const unsigned n = rp_type_dwords(type);
    if (n > 1)
        index &= n == 2 ? ~1u : ~3u;
    return make_reg(d, RP_OPND_SGPR, index, type);
}

static struct rp_opnd dec_vgpr(struct rp_dec *d, unsigned index, unsigned type)
{
    return make_reg(d, RP_OPND_VGPR, index, type);
}

/** Returns an accumulation register if @p acc is set, else a VGPR. */
static struct rp_opnd dec_vector(struct rp_dec *d, bool acc, unsigned index, unsigned type)
{
    return make_reg(d, acc ? RP_OPND_AGPR : RP_OPND_VGPR, index, type);
}

static struct rp_opnd dec_const(unsigned type, unsigned enc, uint64_t imm)
{
    return (struct rp_opnd){.kind = RP_OPND_CONST,
                            .dwords = (uint8_t)rp_type_dwords(type),
                            .index = (uint8_t)enc,
                            .type = (uint8_t)type,
                            .imm = imm};
}

/* Inline integers are 32-bit two's complement for operands up to 32 bits, else 64-bit. */
static uint64_t inline_int(unsigned enc, unsigned type)
{
    int64_t v = enc <= SRC_INT_64 ? (int64_t)enc - SRC_INT_0 : (int64_t)SRC_INT_64 - (int64_t)enc;
    return rp_type_dwords(type) == 1 || type == RP_T_PKF32 ? (uint32_t)v : (uint64_t)v;
}

/** This says what a 32-bit literal is to an operand of that type. */
/* Widens a 32-bit literal for a 64-bit operand: it is the high half of an f64, is sign-extended
 * for i64, and is unsigned otherwise.
 */
static uint64_t dec_literal(uint32_t word, unsigned type)
{
    if (type == RP_T_F64)
        return (uint64_t)word << 32;
    if (type == RP_T_I64)
        return (uint64_t)(int64_t)(int32_t)word;
    return word;
}

/**
 * Decodes an 8-bit scalar source of SALU or VALU. A literal is taken from the stream if @p
 * may_literal is set.
 */
static struct rp_opnd dec_scalar(struct rp_dec *d, unsigned enc, unsigned type, bool may_literal)
{
    if (rp_type_dwords(type) == 0)
        return (struct rp_opnd){0};
    if (enc < SRC_INT_0)
        return dec_sgpr(d, enc, type);
    if (enc <= SRC_INT_MINUS_16)
        return dec_const(type, enc, inline_int(enc, type));
    if (enc >= SRC_FLOAT_FIRST && enc <= SRC_FLOAT_LAST)
        return dec_const(type, enc, rp_inline_float(enc, type));
    if (enc == SRC_LITERAL && may_literal)
        return dec_const(type, enc, dec_literal(dec_dword(d), type));
    if ((enc >= SRC_APERTURE_FIRST && enc <= SRC_APERTURE_LAST) ||
        (enc >= SRC_VCCZ && enc <= SRC_LDS_DIRECT))
        return (struct rp_opnd){.kind = RP_OPND_SPECIAL,
                                .dwords = (uint8_t)rp_type_dwords(type),
                                .index = (uint8_t)enc,
                                .type = (uint8_t)type};
    d->bad = true;
    return (struct rp_opnd){0};
}

/** Decodes a 9-bit vector source. */
static struct rp_opnd dec_source(struct rp_dec *d, unsigned enc, unsigned type, bool may_literal)
{
    if (enc >= SRC_VGPR)
        return dec_vgpr(d, enc - SRC_VGPR, type);
    return dec_scalar(d, enc, type, may_literal);
}

/* The memory formats: SMEM, FLAT, DS, MUBUF, MTBUF. */

static void dec_smem(struct rp_dec *d, uint32_t w0)
{
    uint32_t w1 = dec_dword(d);
    if (d->bad || !dec_row(d, RP_FMT_SMEM, 0, bits(w0, 18, 8)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    unsigned sdata = bits(w0, 6, 7);
    bool imm = bits(w0, 17, 1), soffset_en = bits(w0, 14, 1);
    if (bits(w0, 16, 1))
        in->flags |= RP_IF_SC0;
    in->dst = dec_sgpr(d, sdata, row->dst);
    in->src[0] = dec_sgpr(d, sdata, row->src[0]);
    in->src[2] = dec_sgpr(d, bits(w0, 0, 6) * 2, row->src[2]);
    if (row->src[2] == RP_T_NONE)
        return; /* Cache control and clocks have no address. */
    if (imm)
        in->offset = sign_extend(w1, 21);
    if (soffset_en || !imm) {
        /* Without IMM the offset field itself names the register unless SOFFSET_EN is set. */
        in->src[1] = dec_sgpr(d, soffset_en ? bits(w1, 25, 7) : bits(w1, 0, 7), row->src[1]);
        in->flags |= RP_IF_SOFFSET_EN;
    }
}

/* gfx90a's loads to LDS are global loads with a bit, and gfx942's have opcodes of their own. The
 * rows of gfx942 stand for both.
 */
static void load_to_lds(struct rp_dec *d)
{
    static const struct {
        uint16_t plain, to_lds;
    } pairs[] = {
        {RP_OP_global_load_ubyte, RP_OP_global_load_lds_ubyte},
        {RP_OP_global_load_sbyte, RP_OP_global_load_lds_sbyte},
        {RP_OP_global_load_ushort, RP_OP_global_load_lds_ushort},
        {RP_OP_global_load_sshort, RP_OP_global_load_lds_sshort},
        {RP_OP_global_load_dword, RP_OP_global_load_lds_dword},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (d->in->op == pairs[i].plain) {
            d->in->op = pairs[i].to_lds;
            d->row = &rp_op_rows[d->in->op];
            return;
        }
    d->bad = true;
}

static void dec_flat(struct rp_dec *d, uint32_t w0)
{
    uint32_t w1 = dec_dword(d);
    enum rp_seg seg = bits(w0, 14, 2);
    if (d->bad || seg == 3 || !dec_row(d, RP_FMT_FLAT, seg, bits(w0, 18, 7))) {
        d->bad = true;
        return;
    }
    /* Bit 13 means a load to LDS on gfx90a. On gfx942 it means scratch with a vector address,
     * where gfx90a has that in place of a scalar one.
     */
    const bool gfx90a = rp_isa_target_get() == RP_ISA_GFX90A, bit13 = bits(w0, 13, 1);
    if (gfx90a && bit13)
        load_to_lds(d);
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    unsigned saddr = bits(w1, 16, 7);
    bool acc = bits(w1, 23, 1);
    bool has_saddr = seg != RP_SEG_FLAT && saddr != SADDR_OFF;
    bool has_vaddr = seg != RP_SEG_SCRATCH || (gfx90a ? !has_saddr : bit13);
    bool atomic = row->dst != RP_T_NONE && row->src[1] != RP_T_NONE;
    in->seg = (uint8_t)seg;
    in->offset = sign_extend(w0, 13);
    in->flags |= (bits(w0, 16, 1) ? RP_IF_SC0 : 0) | (bits(w0, 17, 1) ? RP_IF_NT : 0) |
                 (bits(w0, 25, 1) ? RP_IF_SC1 : 0);
    if (row->dst == RP_T_NONE && row->src[1] == RP_T_NONE)
        in->flags |= RP_IF_LDS;
    if (has_vaddr) {
        unsigned type = has_saddr ? RP_T_B32 : row->src[0];
        in->src[0] = dec_vgpr(d, bits(w1, 0, 8), type);
        in->flags |= RP_IF_VADDR;
    }
    if (has_saddr) {
        in->src[2] = dec_sgpr(d, saddr, row->src[2]);
        in->flags |= RP_IF_SADDR;
    }
    in->src[1] = dec_vector(d, acc, bits(w1, 8, 8), row->src[1]);
    if (!atomic || in->flags & RP_IF_SC0)
        in->dst = dec_vector(d, acc, bits(w1, 24, 8), row->dst);
}

static void dec_ds(struct rp_dec *d, uint32_t w0)
{
    uint32_t w1 = dec_dword(d);
    if (d->bad || !dec_row(d, RP_FMT_DS, 0, bits(w0, 17, 8)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    bool acc = bits(w0, 25, 1);
    in->offset = (int32_t)bits(w0, 0, 16);
    if (bits(w0, 16, 1))
        in->flags |= RP_IF_GDS;
    in->src[0] = dec_vgpr(d, bits(w1, 0, 8), row->src[0]);
    in->src[1] = dec_vector(d, acc, bits(w1, 8, 8), row->src[1]);
    in->src[3] = dec_vector(d, acc, bits(w1, 16, 8), row->src[3]);
    in->dst = dec_vector(d, acc, bits(w1, 24, 8), row->dst);
}

/* Data of a buffer instruction, read or written. */
static struct rp_opnd buffer_data(struct rp_dec *d, uint32_t w1, unsigned type)
{
    return dec_vector(d, bits(w1, 23, 1), bits(w1, 8, 8), type);
}

/* Decodes what MUBUF and MTBUF have in the same places: address, data to store, resource and
 * offsets.
 */
static void buffer_operands(struct rp_dec *d, uint32_t w0, uint32_t w1)
{
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    const bool offen = bits(w0, 12, 1), idxen = bits(w0, 13, 1);
    in->offset = (int32_t)bits(w0, 0, 12);
    in->flags |= (offen ? RP_IF_OFFEN : 0) | (idxen ? RP_IF_IDXEN : 0);
    if (offen || idxen) {
        in->src[0] = dec_vgpr(d, bits(w1, 0, 8), offen && idxen ? RP_T_B64 : RP_T_B32);
        in->flags |= RP_IF_VADDR;
    }
    in->src[1] = buffer_data(d, w1, row->src[1]);
    in->src[2] = dec_sgpr(d, bits(w1, 16, 5) * 4, row->src[2]);
    in->src[3] = dec_scalar(d, bits(w1, 24, 8), row->src[3], false);
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
    case RP_OP_buffer_load_dwordx3:
    case RP_OP_buffer_load_dwordx4:
        return rp_isa_target_get() == RP_ISA_GFX950;
    default:
        return false;
    }
}

static void dec_mubuf(struct rp_dec *d, uint32_t w0)
{
    uint32_t w1 = dec_dword(d);
    if (d->bad || !dec_row(d, RP_FMT_MUBUF, 0, bits(w0, 18, 7)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    bool lds = bits(w0, 16, 1);
    bool atomic = row->dst != RP_T_NONE && row->src[1] != RP_T_NONE;
    in->flags |= (bits(w0, 14, 1) ? RP_IF_SC0 : 0) | (bits(w0, 15, 1) ? RP_IF_SC1 : 0) |
                 (bits(w0, 17, 1) ? RP_IF_NT : 0);
    if (row->src[2] == RP_T_NONE)
        return; /* Cache control has no operands. */
    in->flags |= lds ? RP_IF_LDS : 0;
    buffer_operands(d, w0, w1);
    if (!lds && (!atomic || in->flags & RP_IF_SC0))
        in->dst = buffer_data(d, w1, row->dst);
    d->bad |= lds && !loads_to_lds(in->op);
}

static void dec_mtbuf(struct rp_dec *d, uint32_t w0)
{
    uint32_t w1 = dec_dword(d);
    if (d->bad || !dec_row(d, RP_FMT_MTBUF, 0, bits(w0, 15, 4)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    in->flags |= (bits(w0, 14, 1) ? RP_IF_SC0 : 0) | (bits(w1, 21, 1) ? RP_IF_SC1 : 0) |
                 (bits(w1, 22, 1) ? RP_IF_NT : 0);
    in->cbsz = (uint8_t)bits(w0, 19, 4);
    in->blgp = (uint8_t)bits(w0, 23, 3);
    buffer_operands(d, w0, w1);
    in->dst = buffer_data(d, w1, row->dst);
}

/* This part decodes operands of matrix instructions and of the accumulation registers' moves. */

/* CBSZ and BLGP give the format of A and B in the instructions that take any: 0 and 1 have 8 bits,
 * 2 and 3 six, 4 has four.
 */
static unsigned matrix_type(const struct rp_insn *in, unsigned i)
{
    static const uint8_t types[] = {RP_T_B256, RP_T_B256, RP_T_B192, RP_T_B192, RP_T_B128};
    const unsigned format = i == 0 ? in->cbsz : in->blgp;
    if (!rp_mfma_any_format(in->op))
        return rp_op_rows[in->op].src[i];
    return format < sizeof types ? types[format] : types[0];
}

static void matrices(struct rp_dec *d, uint32_t w0, uint32_t w1)
{
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    const bool acc_cd = bits(w0, 15, 1);
    in->cbsz = (uint8_t)bits(w0, 8, 3);
    in->abid = (uint8_t)bits(w0, 11, 4);
    in->blgp = (uint8_t)bits(w1, 29, 3);
    in->dst = dec_vector(d, acc_cd, bits(w0, 0, 8), row->dst);
    for (unsigned i = 0; i < 3; i++) {
        unsigned enc = bits(w1, 9 * i, 9);
        const unsigned type = i < 2 ? matrix_type(in, i) : row->src[2];
        /* The index of smfmac is always a VGPR. */
        bool smfmac_index = i == 2 && row->src[2] == RP_T_B32;
        bool acc = i < 2 ? bits(w1, 27 + i, 1) : acc_cd && !smfmac_index;
        d->bad |= enc < SRC_VGPR && (i < 2 || smfmac_index);
        in->src[i] = enc >= SRC_VGPR ? dec_vector(d, acc, enc - SRC_VGPR, type)
                                     : dec_scalar(d, enc, type, false);
    }
    if (in->src[2].kind == RP_OPND_SGPR || in->src[2].kind == RP_OPND_SPECIAL)
        d->bad = true; /* The accumulator must be registers or an inline constant. */
}

static void dec_mfma(struct rp_dec *d, uint32_t w0, uint32_t w1)
{
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    if (in->op == RP_OP_v_accvgpr_read_b32 || in->op == RP_OP_v_accvgpr_write_b32) {
        bool write = in->op == RP_OP_v_accvgpr_write_b32;
        unsigned enc = bits(w1, 0, 9);
        in->dst = dec_vector(d, write, bits(w0, 0, 8), row->dst);
        d->bad |= !write && enc < SRC_VGPR;
        in->src[0] = write ? dec_source(d, enc, row->src[0], false)
                           : dec_vector(d, true, enc & 0xff, row->src[0]);
        return;
    }
    matrices(d, w0, w1);
}

/* The scales of A and B: one register each, of which op_sel and op_sel_hi name a byte. */
static void dec_mfma_scaled(struct rp_dec *d, uint32_t w0, uint32_t w1)
{
    const uint32_t w2 = dec_dword(d), w3 = dec_dword(d);
    struct rp_insn *in = d->in;
    if (d->bad || w2 >> 23 != w0 >> 23 || !dec_row(d, RP_FMT_VOP3PX2, 0, bits(w2, 16, 7))) {
        d->bad = true;
        return;
    }
    d->bad |= !bits(w1, 8, 1) || !bits(w1, 17, 1); /* Only vector registers are allowed. */
    in->src[3] = dec_vgpr(d, bits(w1, 0, 8), RP_T_B32);
    in->sdst = dec_vgpr(d, bits(w1, 9, 8), RP_T_B32);
    in->op_sel = (uint8_t)bits(w0, 11, 2);
    in->op_sel_hi = (uint8_t)bits(w1, 27, 2);
    matrices(d, w2, w3);
}

/* ---- scalar ALU ---- */

/* Decodes the second source; two literal operands share one literal dword. */
static struct rp_opnd second_source(struct rp_dec *d, uint32_t w)
{
    const unsigned type = d->row->src[1];
    if (bits(w, 0, 8) == SRC_LITERAL && bits(w, 8, 8) == SRC_LITERAL)
        return dec_const(type, SRC_LITERAL, dec_literal(d->in->raw[1], type));
    return dec_scalar(d, bits(w, 8, 8), type, true);
}

static void decode_sop2(struct rp_dec *d, uint32_t w)
{
    if (!dec_row(d, RP_FMT_SOP2, 0, bits(w, 23, 7)))
        return;
    d->in->dst = dec_sgpr(d, bits(w, 16, 7), d->row->dst);
    d->in->src[0] = dec_scalar(d, bits(w, 0, 8), d->row->src[0], true);
    d->in->src[1] = second_source(d, w);
}

static void decode_sop1(struct rp_dec *d, uint32_t w)
{
    if (!dec_row(d, RP_FMT_SOP1, 0, bits(w, 8, 8)))
        return;
    d->in->dst = dec_sgpr(d, bits(w, 16, 7), d->row->dst);
    d->in->src[0] = dec_scalar(d, bits(w, 0, 8), d->row->src[0], true);
}

static void decode_sopc(struct rp_dec *d, uint32_t w)
{
    if (!dec_row(d, RP_FMT_SOPC, 0, bits(w, 16, 7)))
        return;
    d->in->src[0] = dec_scalar(d, bits(w, 0, 8), d->row->src[0], true);
    if (d->in->op == RP_OP_s_set_gpr_idx_on) {
        d->in->src[1] =
            /* The field is an enable mask, not a register. */
            dec_const(RP_T_B32, 0, bits(w, 8, 8));
        d->bad |= bits(w, 8, 8) > 15;
    } else {
        d->in->src[1] = second_source(d, w);
    }
}

static void decode_sopk(struct rp_dec *d, uint32_t w)
{
    if (!dec_row(d, RP_FMT_SOPK, 0, bits(w, 23, 5)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    unsigned sdst = bits(w, 16, 7);
    in->offset = sign_extend(w, 16);
    struct rp_opnd imm =
        dec_const(RP_T_I32, 0, row->src[1] == RP_T_U32 ? bits(w, 0, 16) : (uint32_t)in->offset);
    in->dst = dec_sgpr(d, sdst, row->dst);
    if (in->op == RP_OP_s_setreg_imm32_b32) {
        in->src[0] = dec_const(RP_T_B32, SRC_LITERAL, dec_dword(d));
    } else if (row->src[1] != RP_T_NONE) {
        in->src[0] = dec_sgpr(d, sdst, row->src[0]);
        in->src[1] = imm;
    } else if (row->dst != RP_T_NONE && row->src[0] != RP_T_NONE) {
        in->src[0] = imm;
    } else {
        in->src[0] = dec_sgpr(d, sdst, row->src[0]);
    }
}

static void decode_sopp(struct rp_dec *d, uint32_t w)
{
    if (dec_row(d, RP_FMT_SOPP, 0, bits(w, 16, 7)))
        d->in->offset = sign_extend(w, 16);
}

static void decode_scalar(struct rp_dec *d, uint32_t w)
{
    /* Values below [30], 0x7d.., are the formats without a destination. */
    switch (bits(w, 23, 7)) {
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

/* The opcodes with op_sel are those that gfx9 added with a 16-bit operand. The "legacy" ones have
 * none.
 */
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
        return true; /* It is printed, but executing it is refused (valu.c). */
    default:
        return row->fmt == RP_FMT_VOP3 &&
               (rp_type_is_16bit(row->dst) || rp_type_is_16bit(row->src[0]));
    }
}

/* Returns the sources for which neg and abs have a meaning: floats, and the halves of a select. */
static unsigned float_sources(const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    unsigned mask = in->op == RP_OP_v_cndmask_b32 ? 3 : 0;
    for (unsigned i = 0; i < 3; i++) {
        const unsigned t = row->src[i];
        if (t == RP_T_F16 || t == RP_T_BF16 || t == RP_T_PKBF16 || t == RP_T_F32 || t == RP_T_F64 ||
            t == RP_T_PKF16 || t == RP_T_PKF32)
            mask |= 1u << i;
    }
    return mask;
}

/* Decodes the second dword of an SDWA instruction; @p src1 is the VGPR field of the first. */
static void decode_sdwa(struct rp_dec *d, unsigned src1, bool compare)
{
    struct rp_insn *in = d->in;
    uint32_t w = dec_dword(d);
    in->flags |= RP_IF_SDWA | RP_IF_SRCMOD;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t b = w >> (16 + 8 * i);
        unsigned enc = i == 0 ? bits(w, 0, 8) : src1;
        in->src_sel[i] = (uint8_t)bits(b, 0, 3);
        in->sdwa_sext |= (uint8_t)(bits(b, 3, 1) << i);
        in->neg |= (uint8_t)((bits(b, 4, 1) << i) & float_sources(in));
        in->abs |= (uint8_t)((bits(b, 5, 1) << i) & float_sources(in));
        d->bad |= d->row->src[i] != RP_T_NONE && in->src_sel[i] > 6;
        in->src[i] = bits(b, 7, 1) ? dec_scalar(d, enc, d->row->src[i], false)
                                   : dec_vgpr(d, enc, d->row->src[i]);
    }
    if (compare) {
        if (bits(w, 15, 1))
            in->sdst = dec_sgpr(d, bits(w, 8, 7), RP_T_MASK);
        return;
    }
    in->dst_sel = (uint8_t)bits(w, 8, 3);
    in->dst_unused = (uint8_t)bits(w, 11, 2);
    d->bad |= in->dst_sel > 6 || in->dst_unused > 2;
    in->omod = (uint8_t)bits(w, 14, 2);
    in->flags |= RP_IF_DSTMOD | (bits(w, 13, 1) ? RP_IF_CLAMP : 0);
}

static void decode_dpp(struct rp_dec *d, unsigned src1)
{
    struct rp_insn *in = d->in;
    uint32_t w = dec_dword(d);
    in->flags |= RP_IF_DPP | RP_IF_SRCMOD;
    in->src[0] = dec_vgpr(d, bits(w, 0, 8), d->row->src[0]);
    in->src[1] = dec_vgpr(d, src1, d->row->src[1]);
    in->dpp_ctrl = (uint16_t)bits(w, 8, 9);
    in->bound_ctrl = (uint8_t)bits(w, 19, 1);
    in->neg = (uint8_t)((bits(w, 20, 1) | bits(w, 22, 1) << 1) & float_sources(in));
    in->abs = (uint8_t)((bits(w, 21, 1) | bits(w, 23, 1) << 1) & float_sources(in));
    in->bank_mask = (uint8_t)bits(w, 24, 4);
    in->row_mask = (uint8_t)bits(w, 28, 4);
}

/* Decodes the sources of VOP1, VOP2 and VOPC, whose src0 may be a literal, SDWA or DPP. */
static void decode_vop_sources(struct rp_dec *d, uint32_t w, bool has_src1, bool compare)
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
    d->in->src[0] = dec_source(d, enc, d->row->src[0], true);
    d->in->src[1] = dec_vgpr(d, src1, d->row->src[1]);
}

static void decode_vopc(struct rp_dec *d, uint32_t w)
{
    if (!dec_row(d, RP_FMT_VOPC, 0, bits(w, 17, 8)))
        return;
    d->in->sdst = dec_sgpr(d, RP_SGPR_VCC_LO, d->row->sdst);
    decode_vop_sources(d, w, true, true);
}

static void decode_vop1(struct rp_dec *d, uint32_t w)
{
    if (!dec_row(d, RP_FMT_VOP1, 0, bits(w, 9, 8)))
        return;
    unsigned vdst = bits(w, 17, 8);
    decode_vop_sources(d, w, false, false);
    if (d->in->op == RP_OP_v_readfirstlane_b32) {
        d->in->dst = dec_sgpr(d, vdst, d->row->dst);
    } else if (d->in->op == RP_OP_v_accvgpr_mov_b32) {
        d->bad |= d->in->src[0].kind != RP_OPND_VGPR;
        d->in->dst = dec_vector(d, true, vdst, d->row->dst);
        d->in->src[0] = dec_vector(d, true, d->in->src[0].index, d->row->src[0]);
    } else {
        d->in->dst = dec_vgpr(d, vdst, d->row->dst);
    }
}

static void decode_vop2(struct rp_dec *d, uint32_t w)
{
    if (!dec_row(d, RP_FMT_VOP2, 0, bits(w, 25, 6)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    in->dst = dec_vgpr(d, bits(w, 17, 8), row->dst);
    in->sdst = dec_sgpr(d, RP_SGPR_VCC_LO, row->sdst);
    in->src[3] = dec_sgpr(d, RP_SGPR_VCC_LO, row->src[3]);
    switch (in->op) {
    case RP_OP_v_fmamk_f32:
    case RP_OP_v_madmk_f32:
    case RP_OP_v_madmk_f16: /* K of d = s0 * K + s1 becomes src[1]. */
    case RP_OP_v_fmaak_f32:
    case RP_OP_v_madak_f32:
    case RP_OP_v_madak_f16: { /* K of d = s0 * s1 + K becomes src[2]. */
        bool k_last = in->op == RP_OP_v_fmaak_f32 || in->op == RP_OP_v_madak_f16 ||
                      in->op == RP_OP_v_madak_f32;
        unsigned enc = bits(w, 0, 9);
        uint32_t k = dec_dword(d);
        d->bad |= enc == SRC_SDWA || enc == SRC_DPP;
        in->src[0] = enc == SRC_LITERAL ? dec_const(row->src[0], SRC_LITERAL, k)
                                        : dec_source(d, enc, row->src[0], false);
        in->src[k_last ? 1 : 2] = dec_vgpr(d, bits(w, 9, 8), row->src[1]);
        in->src[k_last ? 2 : 1] = dec_const(row->src[2], SRC_LITERAL, k);
        break;
    }
    default:
        decode_vop_sources(d, w, true, false);
        if (row->src[2] != RP_T_NONE) /* The instruction accumulates into its destination. */
            in->src[2] = dec_vgpr(d, in->dst.index, row->src[2]);
        break;
    }
}

static void vop3_modifiers(struct rp_dec *d, uint32_t w0, uint32_t w1, bool b_form)
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

/* The row decides what the 8-bit destination field of VOP3 names. */
static void vop3_destination(struct rp_dec *d, uint32_t w0, bool b_form)
{
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    unsigned vdst = bits(w0, 0, 8);
    if (row->fmt == RP_FMT_VOPC) {
        in->sdst = dec_sgpr(d, vdst, row->sdst);
    } else if (in->op == RP_OP_v_readlane_b32) {
        in->dst = dec_sgpr(d, vdst, row->dst);
    } else {
        in->dst = dec_vgpr(d, vdst, row->dst);
        if (b_form)
            in->sdst = dec_sgpr(d, bits(w0, 8, 7), row->sdst);
    }
}

/* The truth table sits where abs, neg and omod are otherwise. */
static void bitop3_modifiers(struct rp_dec *d, uint32_t w0, uint32_t w1)
{
    struct rp_insn *in = d->in;
    in->cbsz = (uint8_t)(bits(w1, 27, 2) << 6 | bits(w0, 8, 3) << 3 | bits(w1, 29, 3));
    in->op_sel = (uint8_t)bits(w0, 11, 4);
    d->bad |= bits(w0, 15, 1) || (in->op == RP_OP_v_bitop3_b32 && in->op_sel);
}

static void decode_vop3(struct rp_dec *d, uint32_t w0)
{
    uint32_t w1 = dec_dword(d);
    if (d->bad || !dec_row(d, RP_FMT_VOP3, 0, bits(w0, 16, 10)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    bool b_form = row->sdst != RP_T_NONE && row->fmt != RP_FMT_VOPC;
    bool accumulates = (row->fmt == RP_FMT_VOP2 || in->op == RP_OP_v_cvt_pkaccum_u8_f32) &&
                       row->src[2] != RP_T_NONE;
    vop3_destination(d, w0, b_form);
    for (unsigned i = 0; i < 3; i++)
        if (!(accumulates && i == 2))
            in->src[i] = dec_source(d, bits(w1, 9 * i, 9), row->src[i], false);
    /* Operands wider than a 64-bit pair, except those of v_mqsad, must be vectors. */
    for (unsigned i = 0; i < 3; i++)
        d->bad |= in->src[i].dwords > 4 && in->src[i].kind != RP_OPND_VGPR;
    if (accumulates)
        in->src[2] = dec_vgpr(d, in->dst.index, row->src[2]);
    if (row->src[3] == RP_T_MASK)
        in->src[3] = row->src[2] != RP_T_NONE ? dec_sgpr(d, RP_SGPR_VCC_LO, RP_T_MASK)
                                              : dec_scalar(d, bits(w1, 18, 9), RP_T_MASK, false);
    d->bad |= row->src[3] == RP_T_MASK && bits(w1, 18, 9) >= SRC_VGPR && row->src[2] == RP_T_NONE;
    if (in->op == RP_OP_v_bitop3_b16 || in->op == RP_OP_v_bitop3_b32)
        bitop3_modifiers(d, w0, w1);
    else if (in->op == RP_OP_v_permlane16_swap_b32 || in->op == RP_OP_v_permlane32_swap_b32)
        in->op_sel = (uint8_t)bits(w0, 11, 2); /* FI and BOUND_CTRL take the place of op_sel. */
    else
        vop3_modifiers(d, w0, w1, b_form);
}

static void decode_vop3p(struct rp_dec *d, uint32_t w0)
{
    uint32_t w1 = dec_dword(d);
    unsigned opcode = bits(w0, 16, 7);
    if (opcode == LOAD_SCALES) {
        dec_mfma_scaled(d, w0, w1);
        return;
    }
    if (d->bad || !dec_row(d, RP_FMT_VOP3P, 0, opcode))
        return;
    if (rp_op_is_mai(d->in->op)) {
        dec_mfma(d, w0, w1);
        return;
    }
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    unsigned used = 0;
    in->dst = dec_vgpr(d, bits(w0, 0, 8), row->dst);
    for (unsigned i = 0; i < 3; i++) {
        in->src[i] = dec_source(d, bits(w1, 9 * i, 9), row->src[i], false);
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

/* ---- the whole ---- */

static void decode_format(struct rp_dec *d, uint32_t w)
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
        dec_smem(d, w);
        break;
    case 0x34:
        if (bits(w, 23, 3) == 7)
            decode_vop3p(d, w);
        else
            decode_vop3(d, w);
        break;
    case 0x36:
        dec_ds(d, w);
        break;
    case 0x37:
        dec_flat(d, w);
        break;
    case 0x38:
        dec_mubuf(d, w);
        break;
    case 0x3a:
        dec_mtbuf(d, w);
        break;
    default: /* gfx942 has no use for MIMG, EXP and VINTRP, so the table has no rows for them. */
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
    case RP_OP_s_icache_inv:
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

/* Values of 6 and 4 bits take half of the passes of 8 bits, if both matrices have them: AMD's peaks
 * of both, and LLVM's scheduling model of gfx950. */
static bool is_narrow_product(const struct rp_insn *in)
{
    const bool any = in->op == RP_OP_v_mfma_f32_16x16x128_f8f6f4 ||
                     in->op == RP_OP_v_mfma_f32_32x32x64_f8f6f4 ||
                     in->op == RP_OP_v_mfma_scale_f32_16x16x128_f8f6f4 ||
                     in->op == RP_OP_v_mfma_scale_f32_32x32x64_f8f6f4;
    enum { FIRST_OF_6_BITS = 2 };
    return any && in->cbsz >= FIRST_OF_6_BITS && in->blgp >= FIRST_OF_6_BITS;
}

static void finish(struct rp_dec *d)
{
    struct rp_insn *in = d->in;
    in->fn = d->row->fn ? d->row->fn : rp_fault_unimplemented;
    in->cost_class = rp_target_cost(in->op);
    if (is_narrow_product(in))
        in->cost_class--;
    if (in->flags & RP_IF_GDS && strncmp(d->row->mnemonic, "ds_gws_", 7))
        in->fn = rp_fault_unimplemented; /* The GPU has no global data share, only wave sync. */
    if (ends_block(in))
        in->flags |= RP_IF_ENDS_BLOCK;
    note_registers(in, &in->dst);
    note_registers(in, &in->sdst);
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
    struct rp_dec d = {.code = code, .dwords = dwords, .in = ret};
    memset(ret, 0, sizeof *ret);
    ret->fn = rp_fault_illegal;
    uint32_t w = dec_dword(&d);
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
