/**
 * @file decode.h
 * @brief What the parts of the decoder share. Private to decode*.c.
 *
 * Every function takes the state of one instruction; one that finds a value no instruction can
 * have sets rp_dec.bad, and the caller need not look before it goes on.
 */
#ifndef RP_DEVICE_ISA_DECODE_H
#define RP_DEVICE_ISA_DECODE_H

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

/* VOP3P opcode of the first half of a VOP3PX2 instruction. */
enum { LOAD_SCALES = 0x2c };

struct rp_dec {
    const uint32_t *code;
    size_t dwords;      /**< that may be read at code */
    struct rp_insn *in; /**< what becomes of it */
    const struct rp_op_row *row;
    bool bad; /**< it is no instruction */
};

static inline uint32_t bits(uint32_t word, unsigned low, unsigned count)
{
    return word >> low & ((1u << count) - 1);
}

static inline int32_t sign_extend(uint32_t value, unsigned width)
{
    return (int32_t)(value << (32 - width)) >> (32 - width);
}

/** Another dword of the instruction; 0 and bad when the program ends before it. */
uint32_t rp_dec_dword(struct rp_dec *d);

/** Finds the row of an opcode; false, and bad, when the target has none. */
bool rp_dec_row(struct rp_dec *d, enum rp_fmt fmt, enum rp_seg seg, unsigned opcode);

/* ---- operands (decode_operand.c); type is an enum rp_type, of RP_T_NONE comes no operand ---- */

/** Scalar groups are aligned; hardware ignores the low bits of a misaligned number. */
struct rp_opnd rp_dec_sgpr(struct rp_dec *d, unsigned index, unsigned type);

struct rp_opnd rp_dec_vgpr(struct rp_dec *d, unsigned index, unsigned type);

/** An accumulation register if @p acc, else a VGPR. */
struct rp_opnd rp_dec_vector(struct rp_dec *d, bool acc, unsigned index, unsigned type);

struct rp_opnd rp_dec_const(unsigned type, unsigned enc, uint64_t imm);

/** What a 32-bit literal is to an operand of that type. */
uint64_t rp_dec_literal(uint32_t word, unsigned type);

/** 8-bit scalar source, SALU or VALU; a literal is taken from the stream if @p may_literal. */
struct rp_opnd rp_dec_scalar(struct rp_dec *d, unsigned enc, unsigned type, bool may_literal);

/** 9-bit vector source. */
struct rp_opnd rp_dec_source(struct rp_dec *d, unsigned enc, unsigned type, bool may_literal);

/* ---- formats; w0 (and w1) are the words read so far ---- */

/* decode_mfma.c */
void rp_dec_mfma(struct rp_dec *d, uint32_t w0, uint32_t w1);
void rp_dec_mfma_scaled(struct rp_dec *d, uint32_t w0, uint32_t w1);

/* decode_mem.c */
void rp_dec_smem(struct rp_dec *d, uint32_t w0);
void rp_dec_flat(struct rp_dec *d, uint32_t w0);
void rp_dec_ds(struct rp_dec *d, uint32_t w0);
void rp_dec_mubuf(struct rp_dec *d, uint32_t w0);
void rp_dec_mtbuf(struct rp_dec *d, uint32_t w0);

#endif
