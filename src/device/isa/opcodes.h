/**
 * @file opcodes.h
 * @brief This header declares the instruction table of gfx942: one row per opcode, from ops_alu.def
 * and ops_mem.def. Behind it the rows that only gfx950 has, ops_gfx950.def, and those that only
 * gfx90a has, ops_gfx90a.def.
 *
 * Row forms:
 *   RP_OP(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3, handler, cost)
 *   RP_OP_NOEXEC(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3)
 * fmt is an enum rp_fmt token without RP_FMT_, the operands are enum rp_type tokens without RP_T_,
 * handler is an rp_insn_fn, cost an enum rp_cost token. A NOEXEC row decodes and prints; executing
 * it faults. Mnemonics are bare words without _e32/_e64; they also name the enum constants below.
 */
#ifndef RP_DEVICE_ISA_OPCODES_H
#define RP_DEVICE_ISA_OPCODES_H

#include <stdbool.h>
#include <stdint.h>

#include "device/isa/instruction.h"
#include "device/isa/lane.h"

/* Issue cost of instruction classes in shader clocks, for the first timing model.
 *
 * The numbers are the issue occupancy of one wave64 instruction on one SIMD16 of CDNA3.
 * Sources: AMD CDNA3 ISA guide (a wave64 VALU instruction takes four passes of 16 lanes);
 * LLVM SISchedule gfx942 model as printed by llvm-mca (transcendentals 4 slots, MFMA passes).
 */

/* The columns are X(name, cycles, what). */
#define RP_COST_CLASSES(X)                                                                         \
    X(SALU, 4, "scalar arithmetic, one issue slot")                                                \
    X(BRANCH, 8, "taken or not: issue plus refetch of the wave's instruction buffer")              \
    X(MISC, 4, "s_nop, s_waitcnt, messages, barriers")                                             \
    X(VALU, 4, "wave64 on SIMD16: four passes")                                                    \
    X(VALU64, 8, "64-bit integer and double-rate-limited operations")                              \
    X(VALU_DP, 4, "f64 add, mul, fma: full rate on CDNA3 (81.7 TF = 128 flop/clk/CU)")             \
    X(TRANS, 16, "transcendental: quarter rate")                                                   \
    X(TRANS_DP, 16, "f64 reciprocal and roots: four slots, as those of f32")                       \
    X(MFMA_2, 8, "2 passes of 4 clocks")                                                           \
    X(MFMA_4, 16, "4 passes")                                                                      \
    X(MFMA_8, 32, "8 passes")                                                                      \
    X(MFMA_16, 64, "16 passes")                                                                    \
    X(SMEM, 4, "issue only; memory time is modelled from bytes")                                   \
    X(VMEM, 4, "issue only; memory time is modelled from bytes")                                   \
    X(LDS, 4, "issue only; LDS time is modelled from bytes")

enum rp_cost {
#define X(name, cycles, what) RP_COST_##name,
    RP_COST_CLASSES(X)
#undef X
        RP_COST_MAX,
};

/** These are the issue cycles per class, indexed by enum rp_cost. */
extern const unsigned char rp_cost_cycles[RP_COST_MAX];

/** The row numbers are RP_OP_v_add_f32 and so on; rp_insn.op holds one. */
enum rp_op {
    RP_OP_INVALID = 0,
#define RP_OP(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3, handler, cost) RP_OP_##mnemonic,
#define RP_MEM(fmt, opcode, mnemonic, ...)                                     RP_OP_##mnemonic,
#define RP_OP_NOEXEC(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3)         RP_OP_##mnemonic,
#include "device/isa/ops_alu.def"
#include "device/isa/ops_mem.def"
#undef RP_OP
#undef RP_MEM
#undef RP_OP_NOEXEC
    RP_OP_MAX, /**< end of gfx942's rows */
    RP_OP_LAST_GFX942 = RP_OP_MAX - 1,
#define RP_OP(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3, handler, cost) RP_OP_##mnemonic,
#define RP_MEM(fmt, opcode, mnemonic, ...)                                     RP_OP_##mnemonic,
#define RP_OP_NOEXEC(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3)         RP_OP_##mnemonic,
#include "device/isa/ops_gfx950.def"
    RP_OP_END_GFX950,
    RP_OP_LAST_GFX950 = RP_OP_END_GFX950 - 1,
#include "device/isa/ops_gfx90a.def"
#undef RP_OP
#undef RP_MEM
#undef RP_OP_NOEXEC
    RP_OP_ALL, /**< end of all rows */
};

/* Every handler named by a row must exist. */
#define RP_OP(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3, handler, cost) rp_insn_fn handler;
#define RP_MEM(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3, handler, cost, ...)               \
    rp_insn_fn handler;
#define RP_OP_NOEXEC(fmt, opcode, mnemonic, dst, sdst, s0, s1, s2, s3)
#include "device/isa/ops_alu.def"
#include "device/isa/ops_gfx90a.def"
#include "device/isa/ops_gfx950.def"
#include "device/isa/ops_mem.def"
#undef RP_OP
#undef RP_MEM
#undef RP_OP_NOEXEC

/** This says what a memory instruction does. */
enum rp_access {
    RP_ACCESS_NONE, /**< clocks, cache control, messages */
    RP_ACCESS_LOAD,
    RP_ACCESS_STORE,
    RP_ACCESS_ATOMIC,
    RP_ACCESS_CMPSWAP,  /**< an atomic with two operands */
    RP_ACCESS_EXCHANGE, /**< between lanes: no banks of the LDS */
};

struct rp_op_row {
    const char *mnemonic;
    rp_insn_fn *fn;  /**< NULL: not executable */
    uint16_t opcode; /**< number in its own format */
    uint8_t fmt;     /**< enum rp_fmt */
    uint8_t dst;     /**< enum rp_type, as are sdst and src */
    uint8_t sdst;
    uint8_t src[4];
    uint8_t cost;   /**< enum rp_cost */
    uint8_t access; /**< enum rp_access */
    uint8_t bytes;  /**< of memory that a lane accesses, at each of its addresses */
    uint16_t step;  /**< DS with two addresses: bytes of a unit of their offsets; else 0 */
};

/** The table is indexed by enum rp_op; row 0 is "invalid". */
extern const struct rp_op_row rp_op_rows[RP_OP_ALL];

/** Tests whether the target has the row. */
bool rp_target_has(unsigned op);

/**
 * Returns the lane kernel of a row on the target, or NULL. In the same instructions gfx950's 8-bit
 * floats differ from gfx942's, so their kernels have "_ocp" behind the mnemonic.
 */
rp_lane_fn *rp_target_lane(unsigned op);

/** Returns the row's mnemonic as the target's assembler spells it. */
const char *rp_target_spelling(unsigned op);

/** Returns the enum rp_cost of the row on the target. */
uint8_t rp_target_cost(unsigned op);

/**
 * Returns the row of an opcode, or RP_OP_INVALID. VOP3 opcodes below 0x1c0 give the VOP1, VOP2 or
 * VOPC row whose twin they are.
 * @param seg  enum rp_seg; only used for RP_FMT_FLAT
 */
unsigned rp_op_find(enum rp_fmt fmt, enum rp_seg seg, unsigned opcode);

/** Returns the width of a type in dwords, or 0 for RP_T_NONE. */
unsigned rp_type_dwords(unsigned type);

/**
 * Chooses the handler and lane kernel of a decoded VALU instruction. The decoder calls it when
 * every other field is final.
 */
void rp_valu_bind(struct rp_insn *in);

/** Tests whether CBSZ and BLGP of a matrix instruction choose the formats of A and B. */
bool rp_mfma_any_format(unsigned op);

/** This handles NOEXEC rows and VALU rows without lane kernel. */
rp_insn_fn rp_fault_unimplemented;

/** This handles words that are not instructions. */
rp_insn_fn rp_fault_illegal;

/** This handles operand values or modes that cannot be resolved at decode time. */
rp_insn_fn rp_fault_operand;

static inline uint32_t bits(uint32_t word, unsigned low, unsigned count)
{
    return word >> low & ((1u << count) - 1);
}

/* These source encodings have a meaning of their own. */
enum {
    SRC_INT_0 = 128,
    SRC_INT_64 = 192,
    SRC_INT_MINUS_16 = 208,
    SRC_APERTURE_FIRST = 235,
    SRC_APERTURE_LAST = 239, /**< includes pops_exiting_wave_id */
    SRC_FLOAT_FIRST = 240,   /**< 0.5 */
    SRC_FLOAT_LAST = 248,    /**< 1/(2 pi) */
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

/* Returns the pattern of an inline float. 16-bit float operands get the f16 pattern, 64-bit
 * operands the f64 pattern, and all others the f32 pattern. That includes 16-bit integers, which
 * keep the lower half (AMD's word in LLVM pull request 198005: 1.0 is 0x0000 there on gfx8 and
 * gfx9); packed ones have both halves of it.
 */
uint64_t rp_inline_float(unsigned enc, unsigned type);

/** Returns the mnemonic without encoding suffix, such as "v_add_f32", or "invalid" for op 0. */
static inline const char *rp_isa_mnemonic(unsigned op)
{
    return rp_op_rows[op < RP_OP_ALL ? op : (unsigned)RP_OP_INVALID].mnemonic;
}

static inline bool rp_type_is_float(unsigned type)
{
    return type == RP_T_F16 || type == RP_T_BF16 || type == RP_T_F32 || type == RP_T_F64 ||
           type == RP_T_PKF16 || type == RP_T_PKF32;
}

/** Tests whether values of the type have at most 16 bits in one lane. */
static inline bool rp_type_is_16bit(unsigned type)
{
    return type >= RP_T_B8 && type <= RP_T_BF16;
}

/** Matrix instructions and the moves of accumulation registers: VOP3P encodes them otherwise. */
static inline bool rp_op_is_mai(unsigned op)
{
    const unsigned cost = rp_op_rows[op].cost;
    return (cost >= RP_COST_MFMA_2 && cost <= RP_COST_MFMA_16) || op == RP_OP_v_accvgpr_read_b32 ||
           op == RP_OP_v_accvgpr_write_b32;
}

/**
 * Returns the value of an inline constant in an f16 operand, where a float's pattern becomes the
 * f16 one.
 */
static inline uint32_t rp_inline_as_f16(const struct rp_opnd *o)
{
    const bool is_float = o->index >= SRC_FLOAT_FIRST && o->index <= SRC_FLOAT_LAST;
    return is_float ? (uint32_t)rp_inline_float(o->index, RP_T_F16) : (uint32_t)o->imm;
}

#endif
