/* Operands of the decoder: registers, constants, literals (decode.h). */
#include "decode.h"

uint32_t rp_dec_dword(struct rp_dec *d)
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

bool rp_dec_row(struct rp_dec *d, enum rp_fmt fmt, enum rp_seg seg, unsigned opcode)
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

struct rp_opnd rp_dec_sgpr(struct rp_dec *d, unsigned index, unsigned type)
{
    const unsigned n = rp_type_dwords(type);
    if (n > 1)
        index &= n == 2 ? ~1u : ~3u;
    return make_reg(d, RP_OPND_SGPR, index, type);
}

struct rp_opnd rp_dec_vgpr(struct rp_dec *d, unsigned index, unsigned type)
{
    return make_reg(d, RP_OPND_VGPR, index, type);
}

struct rp_opnd rp_dec_vector(struct rp_dec *d, bool acc, unsigned index, unsigned type)
{
    return make_reg(d, acc ? RP_OPND_AGPR : RP_OPND_VGPR, index, type);
}

struct rp_opnd rp_dec_const(unsigned type, unsigned enc, uint64_t imm)
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
    case RP_T_BF16: /* the upper half of the f32 pattern */
    case RP_T_PKBF16:
        return single[i] >> 16;
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
uint64_t rp_dec_literal(uint32_t word, unsigned type)
{
    if (type == RP_T_F64)
        return (uint64_t)word << 32;
    if (type == RP_T_I64)
        return (uint64_t)(int64_t)(int32_t)word;
    return word;
}

struct rp_opnd rp_dec_scalar(struct rp_dec *d, unsigned enc, unsigned type, bool may_literal)
{
    if (rp_type_dwords(type) == 0)
        return (struct rp_opnd){0};
    if (enc < SRC_INT_0)
        return rp_dec_sgpr(d, enc, type);
    if (enc <= SRC_INT_MINUS_16)
        return rp_dec_const(type, enc, inline_int(enc, type));
    if (enc >= SRC_FLOAT_FIRST && enc <= SRC_FLOAT_LAST)
        return rp_dec_const(type, enc, inline_float(enc, type));
    if (enc == SRC_LITERAL && may_literal)
        return rp_dec_const(type, enc, rp_dec_literal(rp_dec_dword(d), type));
    if ((enc >= SRC_APERTURE_FIRST && enc <= SRC_APERTURE_LAST) ||
        (enc >= SRC_VCCZ && enc <= SRC_LDS_DIRECT))
        return (struct rp_opnd){.kind = RP_OPND_SPECIAL,
                                .dwords = (uint8_t)rp_type_dwords(type),
                                .index = (uint8_t)enc,
                                .type = (uint8_t)type};
    d->bad = true;
    return (struct rp_opnd){0};
}

struct rp_opnd rp_dec_source(struct rp_dec *d, unsigned enc, unsigned type, bool may_literal)
{
    if (enc >= SRC_VGPR)
        return rp_dec_vgpr(d, enc - SRC_VGPR, type);
    return rp_dec_scalar(d, enc, type, may_literal);
}
