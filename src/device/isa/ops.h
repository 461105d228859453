/**
 * @file ops.h
 * @brief The instruction table of gfx942: one row per opcode, from ops_alu.def and ops_mem.def.
 *        Behind it the rows that only gfx950 has, ops_gfx950.def, and those that only gfx90a
 *        has, ops_gfx90a.def.
 *
 * Row forms:
 *   RP_OP(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3, handler, cost)
 *   RP_OP_NOEXEC(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3)
 * fmt is an enum rp_fmt token without RP_FMT_, the operands are enum rp_type tokens without RP_T_,
 * handler is an rp_insn_fn, cost an enum rp_cost token. A NOEXEC row decodes and prints; executing
 * it faults. Mnemonics are bare words without _e32/_e64; they also name the enum constants below.
 */
#ifndef RP_DEVICE_ISA_OPS_H
#define RP_DEVICE_ISA_OPS_H

#include "../exec/wave.h"
#include "insn.h"

/** Row numbers: RP_OP_v_add_f32 and so on; rp_insn.op holds one. */
enum rp_op {
    RP_OP_INVALID = 0,
#define RP_OP(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3, handler, cost) RP_OP_##mnemonic,
#define RP_OP_NOEXEC(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3)         RP_OP_##mnemonic,
#include "ops_alu.def"
#include "ops_mem.def"
#undef RP_OP
#undef RP_OP_NOEXEC
    RP_OP_MAX, /**< end of gfx942's rows */
    RP_OP_LAST_GFX942 = RP_OP_MAX - 1,
#define RP_OP(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3, handler, cost) RP_OP_##mnemonic,
#define RP_OP_NOEXEC(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3)         RP_OP_##mnemonic,
#include "ops_gfx950.def"
    RP_OP_END_GFX950,
    RP_OP_LAST_GFX950 = RP_OP_END_GFX950 - 1,
#include "ops_gfx90a.def"
#undef RP_OP
#undef RP_OP_NOEXEC
    RP_OP_ALL, /**< end of all rows */
};

/* Every handler named by a row must exist. */
#define RP_OP(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3, handler, cost) rp_insn_fn handler;
#define RP_OP_NOEXEC(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3)
#include "ops_alu.def"
#include "ops_gfx90a.def"
#include "ops_gfx950.def"
#include "ops_mem.def"
#undef RP_OP
#undef RP_OP_NOEXEC

struct rp_op_row {
    const char *mnemonic;
    rp_insn_fn *fn;  /**< NULL: not executable */
    uint16_t opcode; /**< number in its own format */
    uint8_t fmt;     /**< enum rp_fmt */
    uint8_t dst;     /**< enum rp_type, as are sdst and src */
    uint8_t sdst;
    uint8_t src[4];
    uint8_t cost; /**< enum rp_cost */
};

/** Indexed by enum rp_op; row 0 is "invalid". */
extern const struct rp_op_row rp_op_rows[RP_OP_ALL];

/** Whether the target has the row (device_options.c). */
bool rp_target_has(unsigned op);

/**
 * Lane kernel of a row on the target, or NULL. gfx950's 8-bit floats are other ones than gfx942's
 * in the same instructions: their kernels have "_ocp" behind the mnemonic.
 */
rp_lane_fn *rp_target_lane(unsigned op);

/** The row's mnemonic as the target's assembler has it. */
const char *rp_target_spelling(unsigned op);

/** enum rp_cost of the row on the target. */
uint8_t rp_target_cost(unsigned op);

/**
 * Row of an opcode, or RP_OP_INVALID. VOP3 opcodes below 0x1c0 give the VOP1, VOP2 or VOPC row
 * they are the twin of.
 * @param seg  enum rp_seg; only used for RP_FMT_FLAT
 */
unsigned rp_op_find(enum rp_fmt fmt, enum rp_seg seg, unsigned opcode);

/** Width of a type in dwords; 0 for RP_T_NONE. */
unsigned rp_type_dwords(unsigned type);

bool rp_type_is_float(unsigned type);

/** True for types whose value is 16 bits or fewer wide in one lane. */
bool rp_type_is_16bit(unsigned type);

/**
 * Chooses the handler and lane kernel of a decoded VALU instruction; called by the decoder when
 * every other field is final.
 */
void rp_valu_bind(struct rp_insn *in);

/** Matrix instructions and the moves of accumulation registers: VOP3P encodes them otherwise. */
bool rp_op_is_mai(unsigned op);

/** A matrix instruction whose CBSZ and BLGP choose the formats of A and B. */
bool rp_mfma_any_format(unsigned op);

/** Value of an inline constant in an f16 operand: a float's pattern becomes the f16 one. */
uint32_t rp_inline_as_f16(const struct rp_opnd *constant);

/* ---- handlers of what cannot execute; all fault through rp_wave_fault (exec/wave_host.h) ---- */

/** Handler of NOEXEC rows and of VALU rows without lane kernel. */
rp_insn_fn rp_fault_unimplemented;

/** Handler of words that are no instruction. */
rp_insn_fn rp_fault_illegal;

/** Handler of operand values or modes that cannot be resolved at decode time. */
rp_insn_fn rp_fault_operand;

/* ---- operands ---- */

/** Value of a scalar operand (SGPR, CONST, SPECIAL), zero-extended; dwords decides the width. */
uint64_t rp_opnd_scalar_slow(const struct rp_wave *wave, const struct rp_opnd *o);

static inline uint32_t rp_opnd_u32(const struct rp_wave *wave, const struct rp_opnd *o)
{
    if (__builtin_expect(o->kind == RP_OPND_SGPR, 1))
        return wave->sgpr[o->index];
    if (o->kind == RP_OPND_CONST)
        return (uint32_t)o->imm;
    return (uint32_t)rp_opnd_scalar_slow(wave, o);
}

static inline uint64_t rp_opnd_u64(const struct rp_wave *wave, const struct rp_opnd *o)
{
    if (__builtin_expect(o->kind == RP_OPND_SGPR, 1))
        return rp_sgpr64(wave, o->index);
    if (o->kind == RP_OPND_CONST)
        return o->imm;
    return rp_opnd_scalar_slow(wave, o);
}

#endif
